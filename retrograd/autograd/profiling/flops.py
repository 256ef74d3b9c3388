"""Floating point operations of the ops that PyTorch's profiler estimates."""

from __future__ import annotations

from math import prod
from typing import Any

from retrograd.autograd.profiling.recorder import Record


def flops_of(record: Record) -> int:
    """An estimate from the shapes of the arguments; 0 for all other ops.

    >>> record = Record("aten::mm", 0)
    >>> record.shapes = [[3, 4], [4, 5]]
    >>> flops_of(record)
    120
    """
    rule = _RULES.get(record.name)
    if rule is None or not record.shapes:
        return 0
    function, first = rule
    return function(record, record.shapes[first:])


def _elements(record: Record, shapes: list[Any]) -> int:
    return int(prod(shapes[0]))


def _product(record: Record, shapes: list[Any]) -> int:
    """Of matrices, or of stacks of them: a multiplication and an addition per step."""
    if len(shapes) < 2 or not shapes[1]:
        return 0  # a call that was refused
    return 2 * int(prod(shapes[0]) * shapes[1][-1])


def _convolution(record: Record, shapes: list[Any]) -> int:
    if [len(shape) for shape in shapes[:2]] != [4, 4]:
        return 0
    image, weight = shapes[:2]
    given = record.concrete[3:6]
    stride, padding, dilation = [_pair(v) for v in given + [1, 0, 1][len(given) :]]
    if padding is None or stride is None or dilation is None or 0 in stride:
        return 0
    sides = [
        (image[2 + i] + 2 * padding[i] - dilation[i] * (weight[2 + i] - 1) - 1) // stride[i] + 1
        for i in (0, 1)
    ]
    return 2 * int(image[0] * prod(sides) * prod(weight))


def _pair(value: object) -> list[int] | None:
    if isinstance(value, int):
        return [value, value]
    if isinstance(value, list) and len(value) in (1, 2):
        return [value[0], value[-1]]
    return None  # padding="same", or an argument that is refused


# by name: the estimate, and the place of the first factor among the arguments
_RULES = {
    "aten::add": (_elements, 0),
    "aten::mul": (_elements, 0),
    "aten::mm": (_product, 0),
    "aten::bmm": (_product, 0),
    "aten::addmm": (_product, 1),
    "aten::baddbmm": (_product, 1),
    "aten::conv2d": (_convolution, 0),
}
