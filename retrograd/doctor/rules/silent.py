"""Faults without an error: the program ends well, but learns nothing, or something else.

Each rule speaks on repeated evidence and with a line to name; healthy programs get no report.
"""

from __future__ import annotations

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import (
    aliased,
    all_frozen,
    average_of_views,
    cancelled,
    clipped,
    clipped_late,
    constant_term,
    copied_weights,
    counted_twice,
    cut_terms,
    dropped_losses,
    flat,
    frozen,
    gradients,
    growth,
    hooks,
    ignoring,
    inner_gradient,
    leaves,
    left_after,
    left_evaluating,
    left_over,
    loss_form,
    made_anew,
    made_in_forward,
    never_stepped,
    no_copy,
    no_slope,
    not_finite,
    other_phase,
    ownership,
    penalty,
    piled_up,
    plain_switch,
    regrown,
    retained,
    rewrapped,
    sampled,
    scaled_step,
    snapshot,
    step_not_taken,
    tail,
    target,
    teacher_training,
    tied_by_data,
    truncated,
    unseen_write,
    unsent,
    untrained,
    used_up,
    weighted,
)
from retrograd.doctor.session import Watched


def diagnose(watched: Watched) -> list[Diagnosis]:
    """What is wrong with a program that ended without an error."""
    if watched.error is not None or watched.recorder.failure is not None:
        return []
    spoiled = not_finite.diagnose(watched)
    if spoiled:
        return spoiled  # whatever comes after it is computed from nan
    found = used_up.diagnose(watched) or ownership.diagnose(watched)
    found = found or all_frozen.diagnose(watched)
    found = found or made_in_forward.diagnose(watched)
    cut: list[Diagnosis] = []
    if not found:
        cut = rewrapped.diagnose(watched) or untrained.diagnose(watched)
        cut = cut or plain_switch.diagnose(watched) or sampled.diagnose(watched)
        cut = cut or truncated.diagnose(watched) or flat.diagnose(watched)
        cut = cut or no_slope.diagnose(watched)
    found += cut
    cleared = gradients.diagnose(watched)
    cleared = cleared or piled_up.diagnose(watched)
    mixed = left_over.diagnose(watched) or left_after.diagnose(watched)
    found += cleared or mixed or other_phase.diagnose(watched)
    found += [] if cleared else tail.diagnose(watched)
    found += counted_twice.diagnose(watched) + cancelled.diagnose(watched)
    found += target.diagnose(watched) or weighted.diagnose(watched)
    found += never_stepped.diagnose(watched) or step_not_taken.diagnose(watched)
    found += frozen.diagnose(watched)
    found += clipped.diagnose(watched) + clipped_late.diagnose(watched) + hooks.diagnose(watched)
    found += left_evaluating.diagnose(watched) + teacher_training.diagnose(watched)
    shared = average_of_views.diagnose(watched) + aliased.diagnose(watched)
    found += shared or no_copy.diagnose(watched)
    found += unseen_write.diagnose(watched) + loss_form.diagnose(watched)
    found += scaled_step.diagnose(watched) + snapshot.diagnose(watched)
    found += tied_by_data.diagnose(watched) + made_anew.diagnose(watched)
    found += dropped_losses.diagnose(watched) + constant_term.diagnose(watched)
    found += cut_terms.diagnose(watched, found)
    if not any(each.cause == "dropped-losses" for each in found):
        found += unsent.diagnose(watched)
    found += ignoring.diagnose(watched)
    penalties = penalty.diagnose(watched) or inner_gradient.diagnose(watched)
    found += penalties
    again = regrown.diagnose(watched)
    found += again or growth.diagnose(watched)
    explained = {diagnosis.fixes[0].place for diagnosis in penalties if diagnosis.fixes}
    for diagnosis in retained.diagnose(watched):
        # what a cut takes out of the loss is not differentiated again
        created = bool(cut) and diagnosis.facts["argument"] == "create_graph"
        carried = diagnosis.error_line in [each.error_line for each in again]
        if diagnosis.error_line not in explained and not created and not carried:
            found.append(copied_weights.instead(watched, diagnosis))
    read = leaves.grad_of_result(watched)
    return found if read is None else [*found, read]
