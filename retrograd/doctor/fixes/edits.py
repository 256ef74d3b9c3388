"""From a fix of a diagnosis to an edit of the user's file, shown as a unified diff.

What cannot be written safely gets no diff, only the words that the fix has: a wrong edit is worse
than none.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix
from retrograd.doctor.fixes import (
    backward_calls,
    carried,
    collected,
    elsewhere,
    inplace,
    links,
    recompute,
)
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import CannotWrite, Draft, decoded
from retrograd.doctor.model import Diagnosis
from retrograd.watching.source import bytes_of

WRITERS: dict[str, Callable[[Task], None]] = {
    "detach": carried.detach,
    "item-for-logging": collected.item_for_logging,
    "reset-state": collected.reset_state,
    "no-grad": links.no_grad,
    "retain-graph": backward_calls.retain_graph,
    "create-graph": backward_calls.create_graph,
    "drop-retain": backward_calls.drop_retain,
    "remove-extra-backward": backward_calls.remove_extra_backward,
    "combine-losses": backward_calls.combine_losses,
    "reduce-loss": backward_calls.reduce_loss,
    "reorder-step": backward_calls.reorder_step,
    "zero-grad": backward_calls.zero_grad,
    "fix-checkpoint-call": backward_calls.fix_checkpoint_call,
    "clone-before-inplace": inplace.clone_before_inplace,
    "clone": inplace.clone,
    "keep-graph": links.keep_graph,
    "enable-grad": links.enable_grad,
    "make-leaf": links.make_leaf,
    "retain-grad": links.retain_grad,
    "drop-requires-grad": links.drop_requires_grad,
    "rebuild-optimizer": links.rebuild_optimizer,
    "register-modules": links.register_modules,
    "recompute-forward": recompute.recompute_forward,
}

OTHER_WRITERS: dict[str, Callable[[Task], None]] = {
    "detach": carried.detach_assigned,
    "clone-before-inplace": inplace.copy_before_write,
    "recompute-forward": recompute.recompute_with_inputs,
    "keep-graph": links.keep_graph_of_collection,
    "drop-retain": elsewhere.drop_setting,
    "reorder-step": elsewhere.step_where_cleared,
    "register-modules": elsewhere.make_parameter,
}
"""A second form of some kinds, used where the first cannot be written or a trial rejects it."""


@dataclass(frozen=True)
class FileEdit:
    """A file before and after a fix, as the bytes on the disk."""

    file: str
    before: bytes
    after: bytes


def edited(text: str, fix: Fix, diagnosis: Diagnosis, other: bool = False) -> str:
    """The text of a file after a fix; raises `CannotWrite` with the reason if there is none.

    >>> from retrograd.doctor.model import Diagnosis
    >>> from retrograd.diagnostics.report import Place
    >>> fix = Fix("retain-graph", Place("train.py", 1))
    >>> edited("loss.backward()\\n", fix, Diagnosis(cause="shared-subgraph"))
    'loss.backward(retain_graph=True)\\n'
    """
    try:
        draft = Draft(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise CannotWrite("the file is not a program") from error
    writer = OTHER_WRITERS.get(fix.kind) if other else WRITERS[fix.kind]
    if writer is None:
        raise CannotWrite("there is no other form")
    writer(Task(draft, fix, diagnosis))
    return draft.result()


def write_edit(fix: Fix, diagnosis: Diagnosis, other: bool = False) -> FileEdit:
    """The edit of the file on the disk; raises `CannotWrite`."""
    try:
        before = bytes_of(fix.place.file)
    except OSError as error:
        raise CannotWrite("the file cannot be read") from error
    return _edit_of_text(before, fix, diagnosis, other)


def write_further(edit: FileEdit, fix: Fix, diagnosis: Diagnosis) -> FileEdit:
    """An edit and, in the text that it gave, a further fix: one change of the file."""
    if fix.place.file != edit.file:
        raise CannotWrite("it is another file")
    further = _edit_of_text(edit.after, fix, diagnosis)
    return FileEdit(edit.file, edit.before, further.after)


def _edit_of_text(before: bytes, fix: Fix, diagnosis: Diagnosis, other: bool = False) -> FileEdit:
    try:
        text, encoding = decoded(before)
    except (SyntaxError, ValueError) as error:
        raise CannotWrite("the file cannot be read") from error
    try:
        after = edited(text, fix, diagnosis, other).encode(encoding)
    except UnicodeError as error:
        raise CannotWrite("the result cannot be written in the file's encoding") from error
    return FileEdit(fix.place.file, before, after)


def propose(diagnosis: Diagnosis) -> None:
    """Fill in the diff of every fix that can be written, and keep its edit for the trial.

    A fix that would write what an earlier one writes says nothing new: it goes.
    """
    taken: list[FileEdit] = []
    for fix in list(diagnosis.fixes):
        found: list[FileEdit] = []
        for other in (False, True):
            try:
                edit = write_edit(fix, diagnosis, other)
            except CannotWrite:
                continue
            if edit not in found:
                found.append(edit)
        if found:
            if found[0] in taken:
                diagnosis.fixes.remove(fix)
                continue
            vars(fix)["_others"] = found[1:]
            choose(fix, found[0])
            taken.append(found[0])


def choose(fix: Fix, edit: FileEdit) -> None:
    """Let an edit be the one of a fix."""
    vars(fix)["_edit"] = edit
    fix.diff = diff_of(edit)


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
