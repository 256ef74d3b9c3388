"""Modes that stand between ops and their kernels: they see every op of a thread, below autograd.

A mode is asked to run each op, and may answer with other tensors than the kernel would make; the
graph is recorded as usual around it. Modes nest: the innermost is asked first, and what it computes
goes through those outside of it. While a mode runs, ops of its own go through the outer ones only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from retrograd.engine.state import STATE, set_op_modes
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor

# the new tensors, and the half type when float32 stood in for it
Computed = tuple[list[Any], Any]


class OpMode(Protocol):
    """What can be put in place with `set_op_modes`."""

    def run(
        self, op: Op, args: tuple[Any, ...], targets: Sequence[Tensor], form: str, compute: object
    ) -> Computed:
        """Run an op: ``compute()`` does it.

        `targets` are the tensors that the result is then written to: for `form` "_" the first
        argument, for "out" those given, else none.
        """


def through_modes(
    op: Op,
    args: tuple[Any, ...],
    compute: Callable[[], Computed],
    targets: Sequence[Any] = (),
    form: str = "",
) -> Computed:
    """Let this thread's modes run an op."""
    modes = STATE.op_modes
    if not modes:
        return compute()
    outer = modes[:-1]

    def inside() -> Computed:
        return through_modes(op, args, compute, targets, form)

    try:
        set_op_modes(outer)
        innermost: OpMode = modes[-1]
        return innermost.run(op, args, targets, form, inside if outer else compute)
    finally:
        set_op_modes(modes)
