"""What a stretch of instructions does to the tensors around it, in each run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from retrograd import core
from retrograd.backend.arrays import Array
from retrograd.tensor import Tensor, VersionCell, cell_of, wrap

Facts = tuple[Any, ...]  # requires_grad, grad_fn, output_nr, cut of a tensor


@core.shortcut("made")
def made(array: Array, facts: Facts, cell: VersionCell | None) -> Tensor:
    """A tensor of the step for somebody outside."""
    tensor = wrap(array)
    tensor._requires_grad, tensor._grad_fn, tensor._output_nr, tensor._cut = facts
    tensor._cell = cell
    return tensor


@core.shortcut("cell_at")
def cell_at(version: int) -> VersionCell:
    """A version cell that has counted some writes."""
    cell = VersionCell()
    cell.version = version
    return cell


@dataclass(slots=True)
class Segment:
    """Runs instructions; then counts writes, makes tensors of what they give, and sets gradients.

    run       the executor's: arrays -> a list of arrays
    operands  tensors that stay; None for one (or an array) that each call gives, in this order
    inputs    which operands' arrays the instructions take
    writes    (operand, how often, who wrote it last and where: `VersionCell`)
    made      (output, the tensor's facts, its version): tensors that others get
    grads     (operand, which of `made` is its gradient now; -1: none)
    leaving   what a call gives: an output, or, as -1 - n, number n of `made`
    """

    run: Callable[[Sequence[Array]], list[Array]]
    operands: tuple[Tensor | None, ...]
    inputs: tuple[int, ...]
    writes: tuple[tuple[int, int, tuple[Any, ...]], ...]
    made: tuple[tuple[int, Facts, int], ...]
    grads: tuple[tuple[int, int], ...]
    leaving: tuple[int, ...]

    def __call__(self, *given: Any) -> tuple[Any, ...]:
        """One run; core/replayed.c does the same."""
        rest = iter(given)
        operands: list[Any] = [next(rest) if x is None else x for x in self.operands]
        arrays = [x._array if isinstance(x, Tensor) else x for x in operands]
        outputs = self.run([arrays[number] for number in self.inputs])
        for number, count, facts in self.writes:
            cell = cell_of(operands[number])
            cell.version += count
            cell.writer, cell.code, cell.lasti = facts
        tensors = [
            made(outputs[number], facts, cell_at(version) if version else None)
            for number, facts, version in self.made
        ]
        for number, which in self.grads:
            operands[number]._meta.grad = None if which < 0 else tensors[which]
        return tuple([outputs[n] if n >= 0 else tensors[-1 - n] for n in self.leaving])


def segment(*parts: Any) -> Callable[..., tuple[Any, ...]]:
    """A `Segment`, compiled where that is there."""
    kind: Callable[..., Any] = core.compiled("Segment") or Segment
    found: Callable[..., tuple[Any, ...]] = kind(*parts)
    return found
