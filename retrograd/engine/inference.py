"""Tensors of inference mode: they have no version, and can never join a graph."""

from __future__ import annotations

from retrograd.engine import failures
from retrograd.engine.state import STATE, count_unusual
from retrograd.tensor import Tensor, VersionCell, meta_of


class InferenceCell(VersionCell):
    """Stands where a version would be, on all tensors made in inference mode: they have none.

    Saving a tensor for backward reads its version, so saving one of these raises.
    """

    __slots__ = ()
    counts = False

    @property
    def version(self) -> int:
        if not STATE.grad_enabled:
            return 0
        raise failures.inference_saved()

    @version.setter
    def version(self, number: int) -> None:
        """Writes are not counted."""


INFERENCE_CELL = InferenceCell()


class Flagged:
    """Kept by an inference tensor that requires grad, as long as both are true.

    Whether ops record such a tensor depends on what else they are given, which only the general
    path looks at: while there is one, every op goes there.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = count_unusual
        count_unusual(1)

    def __del__(self) -> None:
        self.count(-1)


def mark_inference(tensor: Tensor) -> None:
    """Make it a tensor of inference mode, which can never join a graph."""
    meta_of(tensor).inference = True
    tensor._cell = INFERENCE_CELL


def count_writes(tensor: Tensor, source: Tensor) -> None:
    """Let a tensor that was detached from one of inference mode, outside of it, count its writes.

    It may be written, and has a version of its own; for all else it is what its source is.
    """
    counted = meta_of(source).counted
    meta_of(tensor).counted = VersionCell() if counted is None else counted


def cell_of_writes(tensor: Tensor) -> VersionCell | None:
    """What counts the writes to a tensor of inference mode, if anything does."""
    return None if tensor._meta is None else tensor._meta.counted


def flag_leaf(tensor: Tensor, requires_grad: bool) -> None:
    """Set the own flag of a tensor without history."""
    tensor._requires_grad = requires_grad
    meta = tensor._meta
    if meta is not None and meta.inference:
        meta.flagged = Flagged() if requires_grad else None
