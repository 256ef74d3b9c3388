"""Pooling layers beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
from tests.nn.beside import Case, compare, same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LAYERS = [
    ("MaxPool1d", (2,), {}, (2, 3, 8)),
    ("MaxPool1d", (3,), {"stride": 2, "padding": 1, "return_indices": True}, (3, 9)),
    ("MaxPool1d", (2,), {"dilation": 2, "ceil_mode": True}, (2, 3, 8)),
    ("MaxPool2d", (2,), {}, (2, 3, 6, 7)),
    ("MaxPool2d", ((3, 2),), {"stride": (2, 1), "padding": (1, 0)}, (2, 3, 6, 7)),
    ("MaxPool2d", (3, 2), {"ceil_mode": True, "return_indices": True}, (3, 6, 6)),
    ("MaxPool2d", (2,), {"dilation": (2, 1)}, (1, 2, 6, 6)),
    ("MaxPool3d", (2,), {"return_indices": True}, (1, 2, 4, 5, 6)),
    ("MaxPool3d", ((1, 2, 3),), {"stride": (1, 2, 1)}, (2, 4, 5, 6)),
    ("AvgPool1d", (2,), {}, (2, 3, 8)),
    ("AvgPool1d", (3, 2, 1), {"count_include_pad": False, "ceil_mode": True}, (3, 8)),
    ("AvgPool2d", (2,), {}, (2, 3, 6, 7)),
    ("AvgPool2d", ((3, 2), (2, 1), (1, 0)), {"count_include_pad": False}, (2, 3, 6, 7)),
    ("AvgPool2d", (3,), {"stride": 2, "ceil_mode": True, "divisor_override": 5}, (3, 6, 6)),
    ("AvgPool3d", (2,), {}, (1, 2, 4, 5, 6)),
    ("AvgPool3d", ((1, 2, 3),), {"padding": (0, 1, 1), "divisor_override": 2}, (2, 4, 5, 6)),
    ("LPPool1d", (2, 3), {}, (2, 3, 9)),
    ("LPPool1d", (3, 2), {"stride": 1, "ceil_mode": True}, (3, 8)),
    ("LPPool2d", (2, (2, 3)), {"stride": (1, 2)}, (2, 3, 6, 7)),
    ("LPPool3d", (1.5, 2), {}, (1, 2, 4, 4, 4)),
    ("AdaptiveMaxPool1d", (3,), {"return_indices": True}, (2, 3, 8)),
    ("AdaptiveMaxPool2d", ((None, 2),), {}, (2, 3, 5, 7)),
    ("AdaptiveMaxPool2d", (3,), {"return_indices": True}, (3, 5, 7)),
    ("AdaptiveMaxPool3d", ((2, None, 3),), {}, (1, 2, 4, 3, 5)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 8)),
    ("AdaptiveAvgPool2d", ((2, None),), {}, (2, 3, 5, 7)),
    ("AdaptiveAvgPool2d", (1,), {}, (3, 5, 7)),
    ("AdaptiveAvgPool3d", ((2, 1, None),), {}, (1, 2, 4, 3, 5)),
]


@pytest.mark.parametrize(("name", "args", "options", "shape"), LAYERS)
def test_layers(name, args, options, shape):
    compare(torch, Case(name, args, options, (shape,)))


@pytest.mark.parametrize(
    ("rank", "shape", "size"),
    [
        (1, (2, 3, 8), None),
        (2, (2, 3, 6, 5), (6, 5)),
        (2, (2, 4, 4), None),
        (3, (2, 4, 4, 4), None),
    ],
)
def test_unpooling(rank, shape, size):
    array = np.random.default_rng(1).permutation(np.prod(shape)).reshape(shape) * 1.0
    texts, results = [], []
    for t in (retrograd, torch):
        x = t.tensor(array, requires_grad=True)
        pool = getattr(t.nn, f"MaxPool{rank}d")(2, return_indices=True)
        unpool = getattr(t.nn, f"MaxUnpool{rank}d")(2)
        values, places = pool(x)
        y = unpool(values, places, output_size=size)
        (y * y).sum().backward()
        texts.append(repr(unpool))
        results.append((values, places, y, x.grad))
    assert texts[0] == texts[1]
    for ours, theirs in zip(*results, strict=True):
        same(ours, theirs, rtol=0, atol=0)


ERRORS = {
    "stride of nothing": lambda t: t.nn.MaxPool2d(2, stride=0)(t.zeros(1, 4, 4)),
    "dimensions": lambda t: t.nn.MaxPool2d(2)(t.zeros(4, 4)),
    "too much padding": lambda t: t.nn.AvgPool2d(2, padding=2)(t.zeros(1, 4, 4)),
    "too small": lambda t: t.nn.MaxPool1d(5)(t.zeros(1, 4)),
    "unpooled size": lambda t: t.nn.MaxUnpool1d(2)(
        t.zeros(1, 1, 2), t.zeros(1, 1, 2, dtype=t.int64), output_size=(9,)
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    same_error(torch, ERRORS[case])
