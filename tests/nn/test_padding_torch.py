"""Padding layers beside PyTorch's."""

from __future__ import annotations

import pytest

from tests.nn.beside import case, compare, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = {1: (2, 2, 4), 2: (2, 2, 3, 4), 3: (1, 2, 3, 4, 3)}
UNEVEN = {1: (1, 2), 2: (1, 2, 0, 2), 3: (1, 2, 0, 2, 1, 1)}
KINDS = {"ConstantPad": (3.5,), "ZeroPad": (), "ReflectionPad": (), "ReplicationPad": (),
         "CircularPad": ()}  # fmt: skip
CASES = [
    case(f"{kind}{n}d", amounts, *extra, inputs=shape)
    for kind, extra in KINDS.items()
    for n in SHAPES
    for amounts in (1, UNEVEN[n], list(UNEVEN[n]))
    for shape in (SHAPES[n], SHAPES[n][1:])
]
CASES += [
    case("ConstantPad1d", (-1, 2), 7, inputs=(2, 4)),
    case("ZeroPad2d", (-1, 2, 0, -1), inputs=(2, 3, 4)),
]


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    compare(torch, chosen)


ERRORS = {
    "Circular 1d rank": lambda t: t.nn.CircularPad1d(1)(t.ones(3)),
    "Circular 2d rank": lambda t: t.nn.CircularPad2d(1)(t.ones(3, 3)),
    "Circular 3d rank": lambda t: t.nn.CircularPad3d(1)(t.ones(3, 3)),
    "Circular too far": lambda t: t.nn.CircularPad1d(5)(t.ones(1, 1, 3)),
    "Reflection too far": lambda t: t.nn.ReflectionPad1d(3)(t.ones(1, 1, 3)),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)
