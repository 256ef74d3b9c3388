"""Faults without an error: the program ends well, but learns nothing, or something else.

Each rule speaks on repeated evidence and with a line to name; healthy programs get no report.
"""

from __future__ import annotations

from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import (
    cancelled,
    clipped,
    counted_twice,
    gradients,
    growth,
    hooks,
    leaves,
    left_over,
    other_phase,
    ownership,
    penalty,
    plain_switch,
    retained,
    rewrapped,
    sampled,
    unseen_write,
    untrained,
)
from retrograd.doctor.session import Watched


def diagnose(watched: Watched) -> list[Diagnosis]:
    """What is wrong with a program that ended without an error."""
    if watched.error is not None or watched.recorder.failure is not None:
        return []
    found = ownership.diagnose(watched)
    cut: list[Diagnosis] = []
    if not found:
        cut = rewrapped.diagnose(watched) or untrained.diagnose(watched)
        cut = cut or plain_switch.diagnose(watched) or sampled.diagnose(watched)
    found += cut
    cleared = gradients.diagnose(watched)
    found += cleared or left_over.diagnose(watched) or other_phase.diagnose(watched)
    found += counted_twice.diagnose(watched) + cancelled.diagnose(watched)
    found += clipped.diagnose(watched) + hooks.diagnose(watched)
    found += unseen_write.diagnose(watched)
    penalties = penalty.diagnose(watched)
    found += penalties
    found += growth.diagnose(watched)
    explained = {diagnosis.fixes[0].place for diagnosis in penalties if diagnosis.fixes}
    for diagnosis in retained.diagnose(watched):
        # what a cut takes out of the loss is not differentiated again
        created = bool(cut) and diagnosis.facts["argument"] == "create_graph"
        if diagnosis.error_line not in explained and not created:
            found.append(diagnosis)
    read = leaves.grad_of_result(watched)
    return found if read is None else [*found, read]
