"""From a fix of a diagnosis to an edit of the user's file, shown as a unified diff.

What cannot be written safely gets no diff, only the words that the fix has: a wrong edit is worse
than none.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from retrograd.diagnostics.report import Fix, Place
from retrograd.doctor.fixes import (
    at_call,
    at_store,
    backward_calls,
    beside,
    carried,
    classes,
    collected,
    copies,
    elsewhere,
    emptied,
    epochs,
    experts,
    finite,
    for_input,
    freezing,
    from_numpy,
    functions,
    hard_choices,
    inference,
    inplace,
    last_layer,
    links,
    loss_input,
    losses,
    modules_in_place,
    of_the_copy,
    optimizers,
    order,
    parts,
    recompute,
    reports,
    rows,
    scaler,
    straight,
    sums,
    to_numpy,
    training,
    unfrozen,
    unnoticed,
    unsent,
    wrong_calls,
)
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, decoded
from retrograd.doctor.model import Diagnosis
from retrograd.watching.source import bytes_of, statement_at

Writer = Callable[[Task], None]

FORMS: dict[str, tuple[Writer, ...]] = {
    "detach": (
        *(carried.detach, carried.detach_assigned, carried.detach_fields),
        *(carried.detach_slot, beside.detach_what_stays, to_numpy.detach_for_array),
    ),
    "item-for-logging": (collected.item_for_logging,),
    "reset-state": (
        *(emptied.keep_the_last, emptied.empty_after_step),
        *(collected.reset_state, beside.clear_before_copy),
    ),
    "no-grad": (inference.no_grad_instead, links.step_in_place, links.no_grad),
    "retain-graph": (losses.retain_until_the_last, backward_calls.retain_graph),
    "create-graph": (backward_calls.create_graph,),
    "drop-retain": (
        losses.drop_retain_of_the_last,
        backward_calls.drop_retain,
        elsewhere.drop_setting,
    ),
    "remove-extra-backward": (for_input.for_input_alone, losses.remove_extra_backward),
    "combine-losses": (
        *(losses.combine_losses, at_call.combine_losses),
        *(sums.leave_out, losses.send_in_loop),
        *(unsent.add_to_replaced, unsent.send_the_sum),
    ),
    "reduce-loss": (backward_calls.reduce_loss, functions.reduce_result),
    "reorder-step": (
        *(order.reorder_step, elsewhere.step_where_cleared),
        *(order.clear_where_sent, sums.step_after_all, epochs.step_after_last),
        *(training.clip_before_step, training.clip_after_backward, order.step_into_loop),
        *(order.step_after_own, order.clear_after_step, order.clear_behind_other_step),
    ),
    "zero-grad": (
        *(order.clear_before_passes, order.zero_grad),
        *(epochs.clear_before_loop, training.clear_for_step, order.clear_by_hand),
    ),
    "fix-checkpoint-call": (backward_calls.fix_checkpoint_call,),
    "clone-before-inplace": (
        *(modules_in_place.own_result, modules_in_place.own_results_everywhere),
        *(inplace.clone_before_inplace, inplace.copy_before_write),
    ),
    "clone": (
        *(modules_in_place.copy_of_table, copies.copy_what_is_kept),
        *(inplace.clone, training.clone_views),
        *(training.copy_state, training.copy_module),
    ),
    "keep-graph": (
        *(
            of_the_copy.ask_for_the_copy,
            experts.weigh_by_share,
            straight.value_before,
            rows.loss_of_rows,
        ),
        *(links.keep_graph, links.keep_graph_of_term, links.keep_graph_of_collection),
        links.keep_own_history,
        *(hard_choices.soften, parts.use_the_parts, reports.number_for_report),
        *(elsewhere.tensor_for_parameter, from_numpy.stay_in_torch),
        hard_choices.straight_through,
        *(links.detach_other_uses, hard_choices.draw_with_slope),
        *(classes.compare_scores, links.stack_of_tensors),
    ),
    "enable-grad": (
        *(links.enable_grad, unnoticed.switch_parameters),
        *(freezing.freeze_others, freezing.leave_trainable),
        *(last_layer.name_the_last, last_layer.unfreeze_the_last),
    ),
    "make-leaf": (links.make_leaf, functions.require_before_hook),
    "retain-grad": (links.retain_grad,),
    "drop-requires-grad": (links.drop_requires_grad,),
    "rebuild-optimizer": (
        *(optimizers.rebuild_optimizer, optimizers.hold_the_original),
        *(optimizers.add_group, optimizers.sort_the_rest, optimizers.rebuild_with_model),
        *(optimizers.build_once, optimizers.give_beside, optimizers.hold_the_copy),
        unfrozen.hold_frozen_too,
    ),
    "register-modules": (
        *(optimizers.register_modules, elsewhere.make_parameter),
        optimizers.make_in_init,
    ),
    "recompute-forward": (
        *(recompute.recompute_forward, recompute.recompute_with_inputs),
        *(recompute.without_cache, at_call.recompute_between),
    ),
    "register-once": (unnoticed.register_once,),
    "unscale-first": (unnoticed.unscale_first, unnoticed.step_by_scaler),
    "freeze-parameters": (unnoticed.switch_parameters, freezing.drop_gradients),
    "add-step": (freezing.step_in_both_cases, freezing.add_step),
    "keep-finite": (finite.clamp_operand,),
    "return-gradients": (unnoticed.multiply_by_given, functions.return_gradients),
    "drop-once-differentiable": (functions.drop_once_differentiable,),
    "train-mode": (training.train_mode, training.evaluation_mode),
    "renew-parameters": (training.renew_parameters,),
    "tie-parameters": (training.tie_parameters,),
    "match-loss": (loss_input.match_activation, loss_input.match_loss),
    "match-shapes": (loss_input.match_shapes,),
    "find-unused-parameters": (training.find_unused_parameters,),
}
"""How each kind is written. A further form is used where those before it cannot be written, or
where a trial rejects them."""

OF_CAUSE: dict[str, dict[str, tuple[Writer, ...]]] = {
    "scaler-order": {
        "reorder-step": (
            *(scaler.unscale_at_step, scaler.update_at_step, scaler.step_after_update),
            *(scaler.step_later, scaler.leave_out),
        ),
        "add-step": (scaler.add_update,),
        "unscale-first": (
            *(scaler.unscale_other, scaler.scale_loss),
            *(scaler.stay_in_full_precision, scaler.step_without),
        ),
    },
    "wrong-call": {
        "": (wrong_calls.write,),
        "rebuild-optimizer": (wrong_calls.write,),
        "no-grad": (wrong_calls.write,),
        "fix-checkpoint-call": (backward_calls.fix_checkpoint_call,),
    },
}
"""Causes whose fixes are written in a way of their own, and in no other."""

AT_CALL: dict[str, Writer] = {
    "detach": at_call.on_argument(".detach()"),
    "clone": at_call.on_argument(".clone()"),
    "clone-before-inplace": at_call.on_argument(".clone()"),
    "recompute-forward": recompute.recompute_forward,
}
"""The same in the line that calls the function of a fix: the caller may be who is to change."""


@dataclass(frozen=True)
class FileEdit:
    """A file before and after a fix, as the bytes on the disk."""

    file: str
    before: bytes
    after: bytes
    place: Place | None = field(default=None, compare=False)  # where it is another than the fix's


def edited(text: str, fix: Fix, diagnosis: Diagnosis, form: int = 0) -> str:
    """The text of a file after a fix; raises `CannotWrite` with the reason if there is none.

    >>> from retrograd.doctor.model import Diagnosis
    >>> from retrograd.diagnostics.report import Place
    >>> fix = Fix("reduce-loss", Place("train.py", 1))
    >>> edited("loss.backward()\\n", fix, Diagnosis(cause="non-scalar"))
    'loss.mean().backward()\\n'
    """
    return _written(text, fix, diagnosis, FORMS[fix.kind][form])


def _written(
    text: str, fix: Fix, diagnosis: Diagnosis, writer: Writer, inner: Place | None = None
) -> str:
    try:
        draft = Draft(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CannotWrite("the file is not a program") from error
    writer(Task(draft, fix, diagnosis, inner))
    return draft.result()


def all_edits(fix: Fix, diagnosis: Diagnosis) -> Iterator[FileEdit]:
    """Every form in which a fix can be written: in its line, then in those around it.

    Those are the line of a function that it calls where its value is kept, and the lines that
    called its own.
    """
    for writer in _writers(fix, diagnosis):
        try:
            yield _edit_of_file(fix, diagnosis, writer)
        except CannotWrite:
            continue
    if fix.kind == "detach":
        for place in at_store.storing_lines(fix, diagnosis):
            try:
                moved = replace(fix, place=place)
                yield _edit_of_file(moved, diagnosis, carried.detach_what_is_kept, fix.place)
            except CannotWrite:
                continue
    if fix.kind not in AT_CALL:
        return
    for place, inner in at_call.callers(fix, diagnosis):
        try:
            yield _edit_of_file(replace(fix, place=place), diagnosis, AT_CALL[fix.kind], inner)
        except CannotWrite:
            continue


def _writers(fix: Fix, diagnosis: Diagnosis) -> tuple[Writer, ...]:
    if not diagnosis.cause and diagnosis.facts.get("edit"):
        return (wrong_calls.write,) if fix is diagnosis.fixes[0] else ()
    own = OF_CAUSE.get(diagnosis.cause)
    return FORMS.get(fix.kind, ()) if own is None else own.get(fix.kind, ())


def write_edit(fix: Fix, diagnosis: Diagnosis) -> FileEdit:
    """The first of these edits; raises `CannotWrite`."""
    for edit in all_edits(fix, diagnosis):
        return edit
    raise CannotWrite("there is no form of it for this line")


def _edit_of_file(
    fix: Fix, diagnosis: Diagnosis, writer: Writer, inner: Place | None = None
) -> FileEdit:
    try:
        before = bytes_of(fix.place.file)
    except OSError as error:
        raise CannotWrite("the file cannot be read") from error
    return _edit_of_text(before, fix, diagnosis, writer, inner)


def write_further(edit: FileEdit, fix: Fix, diagnosis: Diagnosis) -> FileEdit:
    """An edit and, in the text that it gave, a further fix: one change of the file."""
    if fix.place.file != edit.file:
        raise CannotWrite("it is another file")
    for writer in _writers(fix, diagnosis):
        try:
            further = _edit_of_text(edit.after, fix, diagnosis, writer)
        except CannotWrite:
            continue
        return FileEdit(edit.file, edit.before, further.after, edit.place)
    raise CannotWrite("there is no form of it for this line")


def _edit_of_text(
    before: bytes, fix: Fix, diagnosis: Diagnosis, writer: Writer, inner: Place | None = None
) -> FileEdit:
    try:
        text, encoding = decoded(before)
    except (SyntaxError, ValueError) as error:
        raise CannotWrite("the file cannot be read") from error
    try:
        after = _written(text, fix, diagnosis, writer, inner).encode(encoding)
    except UnicodeError as error:
        raise CannotWrite("the result cannot be written in the file's encoding") from error
    return FileEdit(fix.place.file, before, after, fix.place if inner is not None else None)


def propose(diagnosis: Diagnosis) -> None:
    """Fill in the diff of every fix that can be written, and keep its edit for the trial.

    A fix that would write what an earlier one writes says nothing new: it goes.
    """
    taken: list[FileEdit] = []
    for fix in list(diagnosis.fixes):
        found = list(dict.fromkeys(all_edits(fix, diagnosis)))
        found = list(dict.fromkeys(_with_companions(found, fix, diagnosis)))
        if not found:
            continue
        if found[0] in taken:
            diagnosis.fixes.remove(fix)
            continue
        vars(fix)["_others"] = found[1:]
        choose(fix, found[0])
        taken.append(found[0])


def _with_companions(found: list[FileEdit], fix: Fix, diagnosis: Diagnosis) -> Iterator[FileEdit]:
    """Each edit, and it with what is to go as well: a switch that was set to silence the error."""
    for edit in found:
        for other in diagnosis.fixes if fix.kind == "keep-graph" else ():
            if other.kind == "drop-requires-grad":
                try:
                    yield write_further(edit, _moved(other, edit), diagnosis)
                except CannotWrite:
                    continue
        yield edit


def _moved(fix: Fix, edit: FileEdit) -> Fix:
    """A fix in the text that an edit gave: its line there."""
    before, after = _lines(edit.before), _lines(edit.after)
    same = difflib.SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    for start, to, size in same:
        if start < fix.place.line <= start + size:
            return replace(fix, place=replace(fix.place, line=fix.place.line + to - start))
    raise CannotWrite("the line is changed already")


def choose(fix: Fix, edit: FileEdit) -> None:
    """Let an edit be the one of a fix."""
    vars(fix)["_edit"] = edit
    fix.place = edit.place or _changed_line(fix.place, edit)
    fix.diff = diff_of(edit)


def _changed_line(place: Place, edit: FileEdit) -> Place:
    """Of a statement of several lines the one that changes, where a single one does."""
    before, after = _lines(edit.before), _lines(edit.after)
    if len(before) != len(after) or place.file != edit.file:
        return place
    changed = [n for n, pair in enumerate(zip(before, after, strict=True), 1) if len({*pair}) > 1]
    statement = statement_at(place.file, place.line)
    if len(changed) != 1 or statement is None or hasattr(statement, "body"):
        return place
    if not place.line < changed[0] <= (statement.end_lineno or 0):
        return place
    return replace(place, line=changed[0])


def other_edits(fix: Fix) -> list[FileEdit]:
    """Further forms of the edit, to be tried if the first one fails."""
    return list(vars(fix).get("_others", ()))


def propose_all(diagnoses: list[Diagnosis]) -> None:
    """`propose` for each."""
    for diagnosis in diagnoses:
        propose(diagnosis)


def edit_of(fix: Fix) -> FileEdit | None:
    """The edit that `propose` has kept with a fix."""
    found = vars(fix).get("_edit")
    return found if isinstance(found, FileEdit) else None


def diff_of(edit: FileEdit) -> str:
    """The edit as a unified diff with two lines of context, as `patch` reads it."""
    name = _shown(edit.file)
    before, after = _lines(edit.before), _lines(edit.after)
    found = _unified(before, after, name)
    if len(before) == len(after):
        # Line by line: where a line stands twice, the one that changes is shown as changed.
        # A line that has moved is not: all lines between would be.
        plain, found = found, _unified(_numbered(before), _numbered(after), name)
        found = [_NUMBER.sub("", line) for line in found]
        if sum(line[0] in "+-" for line in plain) < sum(line[0] in "+-" for line in found):
            found = plain
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in found
    )


def _unified(before: list[str], after: list[str], name: str) -> list[str]:
    return list(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", n=2))


_LINE = re.compile("[^\n]*\n|[^\n]+")
_NUMBER = re.compile("(?<=^[-+ ])[0-9]+\0")


def _numbered(lines: list[str]) -> list[str]:
    return [f"{number}\0{line}" for number, line in enumerate(lines)]


def _lines(data: bytes) -> list[str]:
    text, _ = decoded(data)
    # not `splitlines`: for `patch` a form feed ends no line
    return _LINE.findall(text.replace("\r\n", "\n").replace("\r", "\n"))


def _shown(file: str) -> str:
    """The file as seen from the working directory, where it is below it."""
    relative = os.path.relpath(file)
    return os.path.basename(file) if relative.startswith("..") else relative.replace(os.sep, "/")
