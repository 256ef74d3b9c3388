"""Adaptive softmax and fractional pooling against PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd
from tests.nn.beside import same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BOTH = (retrograd, torch)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}


def adaptive(t: Any, **options: Any) -> Any:
    t.manual_seed(2)
    return t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [4, 10], div_value=2.0, **options)


@pytest.mark.parametrize("options", [{}, {"head_bias": True, "dtype": "float64"}])
def test_adaptive_softmax_is_made_alike(options: dict[str, Any]) -> None:
    made = []
    for t in BOTH:
        given = {k: getattr(t, v) if k == "dtype" else v for k, v in options.items()}
        made.append(adaptive(t, **given))
    ours, theirs = made
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        same(ours.state_dict()[key], value, rtol=0, atol=0)
    for t, layer in zip(BOTH, made, strict=True):
        t.manual_seed(5)
        layer.reset_parameters()
    same(ours.tail[1][1].weight, theirs.tail[1][1].weight, rtol=0, atol=0)


@pytest.mark.parametrize(
    "target", [[0, 5, 19, 3, 9, 10], [0, 1, 2, 3, 3, 0], [19, 18, 17, 16, 11, 10], 7, 1]
)
def test_adaptive_softmax_results(target: Any) -> None:
    many = isinstance(target, list)
    array = np.random.default_rng(1).normal(size=(6, 8) if many else (8,))
    results = []
    for t in BOTH:
        layer = adaptive(t, head_bias=True).double()
        x = t.tensor(array, requires_grad=True)
        found = layer(x, t.tensor(target))
        assert type(found).__name__ == "_ASMoutput"
        assert found._fields == ("output", "loss")
        (found.loss + found.output.square().sum()).backward()
        every = layer.log_prob(x if many else x[None])
        best = layer.predict((x if many else x[None]).detach())
        unused = [name for name, p in layer.named_parameters() if p.grad is None]
        gradients = [p.grad for p in layer.parameters() if p.grad is not None]
        results.append(([found.output, found.loss, x.grad, every, best, *gradients], unused))
    assert results[0][1] == results[1][1]
    for mine, real in zip(results[0][0], results[1][0], strict=True):
        same(mine, real, **TIGHT)


def test_adaptive_predictions_of_every_kind() -> None:
    """All frequent, all rare, some of each."""
    rows = np.random.default_rng(3).normal(size=(40, 8)) * 3
    kinds = set()
    for picked in (slice(None), slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 9)):
        found = [adaptive(t).double().predict(t.tensor(rows[picked])) for t in BOTH]
        assert found[0].tolist() == found[1].tolist()
        kinds.update(value >= 4 for value in found[1].tolist())
    assert kinds == {True, False}


ERRORS = {
    "no cutoffs": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, []),
    "descending": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 3]),
    "repeated": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 5]),
    "too large": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 20]),
    "zero": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [0, 3]),
    "fraction": lambda t: t.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [1.5, 3]),
    "sizes": lambda t: adaptive(t)(t.zeros(3, 8), t.tensor([1, 2])),
    "one dimension": lambda t: adaptive(t)(t.zeros(2), t.tensor([1, 2])),
    "two dimensions": lambda t: adaptive(t)(t.zeros(1, 8), t.tensor(2)),
    "many targets": lambda t: adaptive(t)(t.zeros(1, 8), t.tensor([[2]])),
    "class": lambda t: adaptive(t)(t.zeros(2, 8), t.tensor([2, 20])),
    "negative class": lambda t: adaptive(t)(t.zeros(2, 8), t.tensor([-1, 2])),
    "no size": lambda t: t.nn.FractionalMaxPool2d(2),
    "both sizes": lambda t: t.nn.FractionalMaxPool3d(2, 3, 0.5),
    "ratio": lambda t: t.nn.FractionalMaxPool2d(2, output_ratio=1.5),
    "kernel": lambda t: t.nn.FractionalMaxPool3d((2, 0, 2), 3),
    "large kernel": lambda t: t.nn.FractionalMaxPool2d(4, 3)(t.zeros(1, 1, 5, 9)),
    "large width": lambda t: t.nn.FractionalMaxPool3d(3, 3)(t.zeros(1, 1, 6, 6, 5)),
    "two dimensional": lambda t: t.nn.FractionalMaxPool2d(2, 2)(t.zeros(5, 9)),
    "integers": lambda t: t.nn.FractionalMaxPool2d(2, 2)(t.zeros(1, 5, 9, dtype=t.int64)),
    "samples": lambda t: t.nn.functional.fractional_max_pool2d(
        t.zeros(1, 1, 5, 5), 2, 2, _random_samples=t.zeros(1, 1, 3)
    ),
    "samples' dtype": lambda t: t.nn.functional.fractional_max_pool3d(
        t.zeros(1, 1, 5, 5, 5), 2, 2, _random_samples=t.zeros(1, 1, 3, dtype=t.float64)
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    same_error(torch, ERRORS[name])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("kind", "args", "options", "shape"),
    [
        ("FractionalMaxPool2d", (2, (5, 4)), {}, (2, 3, 11, 9)),
        ("FractionalMaxPool2d", ((3, 2),), {"output_ratio": (0.4, 0.6)}, (3, 12, 13)),
        ("FractionalMaxPool2d", (1, 1), {}, (2, 1, 4, 4)),
        ("FractionalMaxPool3d", (2, (3, 4, 2)), {}, (2, 2, 7, 8, 6)),
        ("FractionalMaxPool3d", ((1, 2, 3),), {"output_ratio": 0.5}, (2, 8, 9, 10)),
    ],
)
def test_fractional_pooling(
    kind: str, args: tuple[Any, ...], options: dict[str, Any], shape: tuple[int, ...], dtype: str
) -> None:
    """The same windows after the same seed, values, places and gradients."""
    results = []
    array = np.random.default_rng(8).normal(size=shape)
    for t in BOTH:
        layer = getattr(t.nn, kind)(*args, return_indices=True, **options)
        t.manual_seed(4)
        x = t.tensor(array).to(getattr(t, dtype)).requires_grad_()
        values, indices = layer(x)
        (values.float() * 3).sum().backward()
        results.append((repr(layer), values.float(), indices, x.grad.float(), t.rand(3)))
    assert results[0][0] == results[1][0]
    for mine, real in zip(results[0][1:], results[1][1:], strict=True):
        same(mine, real, rtol=0, atol=0)


def test_fractional_pooling_of_nan() -> None:
    row = [[[1.0, float("nan"), 3.0, float("nan"), 2.0, 5.0, 1.0]]]
    found = []
    for t in BOTH:
        pooled = t.nn.functional.fractional_max_pool2d_with_indices(
            t.tensor(row), (1, 3), (1, 3), _random_samples=t.zeros(1, 1, 2)
        )
        found.append(pooled[1].tolist())
    assert found[0] == found[1]
