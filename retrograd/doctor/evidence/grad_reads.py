"""Lines that read the `.grad` of a tensor, and what made that tensor."""

from __future__ import annotations

import ast
import sys
from types import FrameType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence import statements
from retrograd.watching import source
from retrograd.watching.lines import LineLog

NON_LEAF_GRAD = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed"


def grad_attributes(place: Place) -> list[ast.Attribute]:
    """Where the statement of a line reads `.grad`."""
    statement = source.statement_at(place.file, place.line)
    # a compound statement (if x.grad is None:) has no simple one: look at the line's own nodes
    nodes = ast.walk(statement) if statement is not None else ast.walk(source.tree_of(place.file))
    return [
        node
        for node in nodes
        if isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and isinstance(node.ctx, ast.Load)
        and (statement is not None or node.lineno == place.line)
    ]


def result_read(place: Place, frame: FrameType, tensor: type[Any]) -> Any | None:
    """The tensor with history whose `.grad` a line reads, None if it cannot be told."""
    for node in grad_attributes(place):
        value = statements.value_of(node.value, frame)
        if isinstance(value, tensor) and not value.is_leaf and not value.retains_grad:
            return value
    return None


def maker_of_read(log: LineLog, tensor: type) -> tuple[list[Place], bool]:
    """In the middle of such a read: the stack that made the tensor, empty if it is not known.

    Also whether the tensor is all that its line computes.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame not in log.live:
        frame = frame.f_back
    if frame is None:
        return [], False
    place = Place(frame.f_code.co_filename, frame.f_lineno)
    value = result_read(place, frame, tensor)
    if value is None or value.grad_fn is None:
        return [], False
    number = value.grad_fn._sequence_nr()
    made = [place for _, place in log.stack_of(number)]
    return made, bool(made) and _is_whole(number, log, made[-1], place)


def _is_whole(number: int, log: LineLog, line: Place, reading: Place) -> bool:
    """Whether the tensor is what its line keeps, and not a part: by name, or nothing follows."""
    kept = {name.rpartition(".")[2] for name in source.assigned_names(line.file, line.line)}
    read = {ast.unparse(node.value).rpartition(".")[2] for node in grad_attributes(reading)}
    if kept & read or not kept:
        return True
    return number + 1 >= log.counter() or log.site_of(number) != log.site_of(number + 1)
