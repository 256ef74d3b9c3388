"""How an elementwise kernel goes over its operands: worked out once for shapes and strides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from retrograd.backend.cuda.written import Layout
from retrograd.backend.memory_order import axes_by_memory

_WIDEST = 16  # bytes of one load
_MOST_IN_GROUP = 8
_SMALL = 2**31 - 2**20  # the last turn of a loop may go beyond the end


class Way(NamedTuple):
    """A kernel's layout, and what it is given at each launch.

    shape     of the result
    axes      its dimensions from the slowest to the fastest; None where that is their order
    all       elements
    numbers   sizes and steps, as the kernel takes them after `all`
    """

    layout: Layout
    shape: tuple[int, ...]
    axes: list[int] | None
    all: int
    numbers: tuple[int, ...]


def way_over(
    shapes: Sequence[tuple[int, ...]],
    strides: Sequence[tuple[int, ...]],
    sizes: Sequence[int],
    widest: int,
    alignment: int,
) -> Way | None:
    """The way over operands with these shapes, strides in bytes and element sizes.

    widest     the largest element that is read or written
    alignment  the lowest bits of all addresses together
    None       where an operand's elements do not lie a whole number of them apart
    """
    shape = np.broadcast_shapes(*shapes)
    steps: list[list[int]] = []
    for own, stride, size in zip(shapes, strides, sizes, strict=True):
        if any([step % size for step in stride]):
            return None
        missing = len(shape) - len(own)
        steps.append(
            [0] * missing
            + [
                0 if have != want or have == 1 else step // size
                for have, want, step in zip(own, shape[missing:], stride, strict=True)
            ]
        )
    axes = axes_by_memory(shape, steps) if len(shape) > 1 else [*range(len(shape))]
    total = math.prod(shape)
    joined = _joined([shape[axis] for axis in axes], [[s[axis] for axis in axes] for s in steps])
    extents, moved = joined
    moves = "".join(["bv"[s[-1]] if s[-1] in (0, 1) else "s" for s in moved])
    width = _width(extents, moved, moves, widest, alignment)
    extents = [*extents[:-1], -(-extents[-1] // width)]
    numbers: list[int] = list(reversed(extents))[: len(extents) - 1]
    for move, step in zip(moves, moved, strict=True):
        turned = list(reversed(step))
        numbers += turned if move == "s" else turned[1:]
    reach = max(
        [total, *[sum([abs(x) * e for x, e in zip(s, extents, strict=True)]) for s in moved]]
    )
    layout = Layout(len(extents), width, moves, reach < _SMALL)
    in_order = axes == [*range(len(shape))]
    return Way(layout, shape, None if in_order else axes, total, tuple(numbers))


def _joined(extents: list[int], steps: list[list[int]]) -> tuple[list[int], list[list[int]]]:
    """Dimensions without those of one element, and neighbours as one where all steps fit."""
    kept: list[int] = []
    moved: list[list[int]] = [[] for _ in steps]
    for axis, extent in enumerate(extents):
        if extent == 1:
            continue
        if kept and all(
            [own[-1] == step[axis] * extent for own, step in zip(moved, steps, strict=True)]
        ):
            kept[-1] *= extent
            for own, step in zip(moved, steps, strict=True):
                own[-1] = step[axis]
            continue
        kept.append(extent)
        for own, step in zip(moved, steps, strict=True):
            own.append(step[axis])
    if not kept:
        return [1], [[0] for _ in steps]
    return kept, moved


def _width(
    extents: Sequence[int],
    moved: Sequence[Sequence[int]],
    moves: str,
    widest: int,
    alignment: int,
) -> int:
    """How many elements each thread takes together."""
    if "s" in moves or "v" not in moves:
        return 1
    width = min(_WIDEST // widest, _MOST_IN_GROUP)
    outer = len(extents) > 1
    while width > 1:
        fits = not outer or (
            extents[-1] % width == 0
            and not any(
                [x % width for s, m in zip(moved, moves, strict=True) if m == "v" for x in s[:-1]]
            )
        )
        if fits and alignment % (width * widest) == 0:
            break
        width //= 2
    return width
