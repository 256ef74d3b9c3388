"""Dropout layers beside PyTorch's: the same seed drops the same elements."""

from __future__ import annotations

import pytest

from tests.nn.beside import case, compare, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = {
    "Dropout": (5, 7),
    "Dropout1d": (3, 6, 2),
    "Dropout2d": (3, 6, 2, 2),
    "Dropout3d": (2, 6, 2, 1, 2),
    "AlphaDropout": (5, 7),
    "FeatureAlphaDropout": (3, 6, 2),
}
CASES = [
    case(name, *args, inputs=shape)
    for name, shape in SHAPES.items()
    for args in ((), (0.2,), (0.7, True), (0,), (0.0,))
]
CASES += [
    case("Dropout", 1.0, inputs=(4,)),
    case("Dropout1d", inputs=(6, 2)),
    case("AlphaDropout", 1.0, inputs=(4,)),
]


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    compare(torch, chosen)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("probability", [-0.1, 1.5])
def test_probability_is_checked(name, probability):
    same_error(torch, lambda t: getattr(t.nn, name)(probability))
