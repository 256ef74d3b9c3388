"""Identity, Linear, Bilinear, Flatten and Unflatten beside PyTorch's."""

from __future__ import annotations

import pytest

from tests.nn.beside import case, compare, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES = [
    case("Identity", inputs=(2, 3)),
    case("Identity", 54, unused=1, inputs=(2, 3)),
    case("Linear", 3, 4, inputs=(2, 3)),
    case("Linear", 3, 4, inputs=(3,)),
    case("Linear", 3, 4, bias=False, inputs=(2, 5, 3)),
    case("Linear", 1, 1, inputs=(0, 1)),
    case("Bilinear", 3, 4, 2, inputs=[(5, 3), (5, 4)]),
    case("Bilinear", 3, 4, 2, inputs=[(3,), (4,)]),
    case("Bilinear", 3, 4, 2, bias=False, inputs=[(2, 5, 3), (2, 5, 4)]),
    case("Flatten", inputs=(2, 3, 4)),
    case("Flatten", 0, 1, inputs=(2, 3, 4)),
    case("Flatten", 0, inputs=(2, 3)),
    case("Unflatten", 1, (2, 3), inputs=(4, 6)),
    case("Unflatten", -1, [2, -1], inputs=(4, 6)),
    case("Unflatten", 0, (4, 1), inputs=(4, 6)),
]


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    compare(torch, chosen)


ERRORS = {
    "Linear shapes": lambda t: t.nn.Linear(3, 4)(t.ones(2, 2)),
    "Bilinear without inputs": lambda t: t.nn.Bilinear(0, 4, 2),
    "Bilinear batches": lambda t: t.nn.Bilinear(3, 4, 2)(t.ones(2, 3), t.ones(5, 4)),
    "Unflatten one size": lambda t: t.nn.Unflatten(1, 6),
    "Unflatten fraction": lambda t: t.nn.Unflatten(1, (2, 3.0)),
    "Unflatten too much": lambda t: t.nn.Unflatten(1, (2, 2))(t.ones(4, 6)),
    "Flatten order": lambda t: t.nn.Flatten(2, 1)(t.ones(2, 3, 4)),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)
