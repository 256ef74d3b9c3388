"""The line search of L-BFGS: a step size that satisfies the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from retrograd.tensor import Tensor

Size = float | Tensor  # a tensor where the learning rate or the slope is one

_DECREASE = 1e-4  # of the loss, as a part of what the slope at the start promises
_FLATNESS = 0.9  # of the slope, as a part of the slope at the start
_NARROWEST = 1e-9


class Point(NamedTuple):
    """What is known about one step size along the line."""

    size: Any  # a Size; `abs` of one has no type
    loss: float
    gradient: Tensor
    slope: Tensor


def strong_wolfe(
    evaluate: Callable[[Size], Point], start: Point, size: Size, longest: Tensor, limit: int
) -> tuple[Point, int]:
    """The point found and the number of evaluations.

    start     the line at size 0
    size      the first size to try
    longest   the largest entry of the direction, which tells how narrow a bracket is
    limit     evaluations beyond the first
    """
    bracket, done, used = _bracket(evaluate, start, evaluate(size), limit)
    low = _lowest(bracket)
    stuck = False
    while not done and used < limit:
        if abs(bracket[1].size - bracket[0].size) * longest < _NARROWEST:
            break
        size, stuck = _trial(bracket, stuck)
        point = evaluate(size)
        used += 1
        high = 1 - low
        if _too_high(point, start) or point.loss >= bracket[low].loss:
            bracket[high] = point
            low = _lowest(bracket)
            continue
        if abs(point.slope) <= -_FLATNESS * start.slope:
            done = True
        elif point.slope * (bracket[high].size - bracket[low].size) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    return bracket[low], used + 1


def _bracket(
    evaluate: Callable[[Size], Point], start: Point, point: Point, limit: int
) -> tuple[list[Point], bool, int]:
    """Lengthen the step until the wanted point is passed, or found."""
    before = start
    used = 0
    while used < limit:
        if _too_high(point, start) or (used > 1 and point.loss >= before.loss):
            return [before, point], False, used
        if abs(point.slope) <= -_FLATNESS * start.slope:
            return [point], True, used
        if point.slope >= 0:
            return [before, point], False, used
        bounds = (point.size + 0.01 * (point.size - before.size), point.size * 10)
        size = _cubic_minimum(before, point, bounds)
        before, point = point, evaluate(size)
        used += 1
    return [start, point], False, used


def _too_high(point: Point, start: Point) -> bool:
    return bool(point.loss > start.loss + _DECREASE * point.size * start.slope)


def _lowest(bracket: list[Point]) -> int:
    return 0 if bracket[0].loss <= bracket[-1].loss else 1


def _trial(bracket: list[Point], stuck: bool) -> tuple[Size, bool]:
    """The next size inside the bracket, and whether it is too near to one of its ends.

    Near an end twice in a row, or on it: a tenth of the bracket away from that end instead.
    """
    size = _cubic_minimum(bracket[0], bracket[1])
    left = min(bracket[0].size, bracket[1].size)
    right = max(bracket[0].size, bracket[1].size)
    margin = 0.1 * (right - left)
    if not min(right - size, size - left) < margin:
        return size, False
    if not (stuck or size >= right or size <= left):
        return size, True
    return (right - margin if abs(size - right) < abs(size - left) else left + margin), False


def _cubic_minimum(a: Point, b: Point, bounds: tuple[Size, Size] | None = None) -> Any:
    """Where the cubic through both points, with their slopes, is smallest within the bounds."""
    if a.size > b.size:
        a, b = b, a
    lowest, highest = (a.size, b.size) if bounds is None else bounds
    middle = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = middle**2 - a.slope * b.slope
    if not square >= 0:  # also where it is not a number
        return (lowest + highest) / 2.0
    root = square.sqrt()
    part = (b.slope + root - middle) / (b.slope - a.slope + 2 * root)
    return min(max(b.size - (b.size - a.size) * part, lowest), highest)
