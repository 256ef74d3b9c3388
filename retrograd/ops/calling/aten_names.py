"""What PyTorch calls our ops: events of the profiler, and overloads such as ``aten.add.Tensor``.

A profiler of PyTorch shows an op under the name that was called (``aten::softmax``); what chooses
among ops below autograd, as selective checkpointing does, sees the one that computes
(``aten._softmax.default``). So there are two functions; declarations have the names that do not
follow from ours (``event=`` and ``aten=``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

from retrograd.ops.registry import Op

Choice = Callable[[tuple[Any, ...]], str]


@cache
def event_name(op: Op) -> str:
    """The name of an op's events: ``aten::mul``, or ``retrograd::...`` for one of our own."""
    label = op.label
    if op.event is not None:
        return op.event if "::" in op.event else f"aten::{op.event}"
    if op.name.startswith("_") and isinstance(op.aten, str):
        return f"aten::{op.aten.partition('.')[0]}"
    if op.name.startswith("_") and label == op.name.strip("_"):
        stem = label.removesuffix("_gradient")
        return f"retrograd::{label}" if stem == label else f"aten::{stem}_backward"
    return f"aten::special_{label}" if op.namespace == "special" else f"aten::{label}"


# ----------------------------------------------------------------------------------- overloads

_LIST = Path(__file__).parents[2] / "compat" / "aten_overloads.txt"


@cache
def overload_table() -> dict[str, tuple[str, ...]]:
    """PyTorch's ops by name, with the names of their overloads.

    >>> overload_table()["relu"]
    ('default', 'out')
    """
    found = {}
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, *overloads = line.split()
            found[name] = tuple(overloads) or ("default",)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex))


def by_operands(both: str, second: str, first: str) -> Choice:
    """The overload of a call with two tensors, or with a number as the second or first operand."""
    return lambda args: first if _is_number(args[0]) else second if _is_number(args[1]) else both


def by_dim(one: str, several: str) -> Choice:
    """The overload of a call with one dimension or several; `default` without any."""

    def choose(args: tuple[object, ...]) -> str:
        if args[1] is None:
            return "default"
        return several if isinstance(args[1], Iterable) else one

    return choose


def overload_name(op: Op, args: tuple[object, ...], form: str = "") -> str:
    """The overload that a call of an op is in PyTorch: ``aten.add.Tensor``.

    `form` is "_" for a call in place and "out" for one with ``out=``. Ops that PyTorch does not
    have are in a namespace of our own. Where a declaration names none, it is `default`, or `Tensor`
    where there is no `default`.
    """
    if form == "_" and op.aten_inplace is not None:
        return f"aten.{op.aten_inplace}"
    space, _, name = event_name(op).partition("::")
    overload = ""
    if isinstance(op.aten, str):
        space, (name, _, overload) = "aten", op.aten.partition(".")
    elif op.aten is not None:
        overload = op.aten(args)
    if not overload:
        known = overload_table().get(name, ())
        overload = "Tensor" if "Tensor" in known and "default" not in known else "default"
    if form == "_":
        name = (op.inplace_name or op.name + "_").removeprefix("_")
        if name not in overload_table():
            return f"retrograd.{name}.default"
        known, space = overload_table()[name], "aten"
        overload = overload if overload in known else known[0]
    elif form == "out" and space == "aten":
        known = overload_table()[name]
        wanted = ("out" if overload == "default" else f"{overload}_out", "out")
        overload = next((way for way in wanted if way in known), overload)
    return f"{space}.{name}.{overload}"
