"""Calls that PyTorch refuses, or takes in several forms, are refused and taken alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def _outcome(function: Any) -> str:
    try:
        return str(function())
    except (TypeError, RuntimeError) as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def _calls(t: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    cpu, wide, like = t.device("cpu"), t.float64, t.ones(1, dtype=t.float64)
    positional = (
        (), (None,), ("cpu",), (cpu,), (wide,), (float,), (like,), ([],), ({},),
        (cpu, wide), (cpu, float), (cpu, None), (None, None), (cpu, True), (None, True),
        (cpu, like), (wide, True), (wide, wide), (wide, None), (like, True), (cpu, wide, True),
        (cpu, wide, 1), (cpu, None, None), (wide, True, False), (cpu, wide, True, True),
        (cpu, wide, True, True, True),
    )  # fmt: skip
    named: tuple[dict[str, Any], ...] = (
        {"dtype": None}, {"device": None}, {"dtype": wide}, {"dtype": float}, {"tensor": like},
        {"device": "cpu", "dtype": wide}, {"foo": 1}, {"other": like}, {"memory_format": 3},
        {"memory_format": t.preserve_format}, {"copy": True}, {"non_blocking": True},
    )  # fmt: skip
    mixed: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
        ((wide,), {"dtype": wide}), ((cpu,), {"device": cpu}), ((wide,), {"device": "cpu"}),
        ((like,), {"dtype": wide}), ((wide,), {"copy": 1}), ((wide,), {"non_blocking": None}),
        ((wide,), {"memory_format": None}), ((cpu,), {"copy": True}),
        ((cpu,), {"dtype": wide, "non_blocking": True}),
    )  # fmt: skip
    return [*((args, {}) for args in positional), *(((), names) for names in named), *mixed]


@pytest.mark.parametrize("place", range(len(_calls(retrograd))))
def test_to(place: int) -> None:
    found = []
    for t in (torch, retrograd):
        args, named = _calls(t)[place]
        tensor, layer = t.ones(2), t.nn.Linear(2, 2)
        found.append(
            (
                _outcome(lambda x=tensor, a=args, n=named: x.to(*a, **n).dtype),
                _outcome(lambda x=layer, a=args, n=named: x.to(*a, **n).weight.dtype),
            )
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("dilation", [-1, 0])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_dilation(dimensions: int, name: str, dilation: int) -> None:
    found = []
    for t in (torch, retrograd):
        function = getattr(t.nn.functional, f"{name}{dimensions}d")
        image, kernel = t.ones(1, 1, *(4,) * dimensions), t.ones(1, 1, *(2,) * dimensions)
        found.append(_outcome(lambda f=function, i=image, k=kernel: f(i, k, dilation=dilation)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "options",
    [
        (2, 2, -1), (2, 2, 2), (3, 2, 3, 2), (3, 0), (0,), (3, 1, 0, 0), (-1,), (3, -1), (20,),
        (3, 1, 0, -1), (3, 1, 1), (3, 20), ((2, 2),), (2, (1, 1)), (2, ()), (2, 1, (0, 0)),
    ],
)  # fmt: skip
def test_max_pool1d_with_indices(options: tuple[Any, ...]) -> None:
    found = []
    for t in (torch, retrograd):
        pool = t.nn.functional.max_pool1d
        line = t.arange(9.0).view(1, 1, 9)
        found.append(_outcome(lambda p=pool, x=line: p(x, *options, return_indices=True)))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("masked", ["none", "half", "float32", "bool", "causal"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_in_half_precision(kind: str, masked: str, dropout: float) -> None:
    """The scores are computed in float32: rounding them would change the weights visibly."""
    found = []
    for t in (torch, retrograd):
        t.manual_seed(3)
        query, key, value = (
            t.randn(2, 4, 8).mul(3).to(getattr(t, kind)).requires_grad_() for _ in range(3)
        )
        mask = t.randn(4, 4)
        masks = {"half": mask.to(query.dtype), "float32": mask, "bool": mask > -1}
        result = t.nn.functional.scaled_dot_product_attention(
            *(query, key, value), attn_mask=masks.get(masked), dropout_p=dropout,
            is_causal=masked == "causal",
        )  # fmt: skip
        assert result.dtype == query.dtype
        gradients = t.autograd.grad(result.float().pow(2).sum(), [query, key, value])
        found.append([x.detach().float().numpy() for x in (result, *gradients)])
    one = {"bfloat16": 2.0**-7, "float16": 2.0**-10}[kind]  # one unit in the last place
    for theirs, ours in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=one, atol=one / 8 * np.abs(theirs).max())


@pytest.mark.filterwarnings("ignore:.*jit.script:DeprecationWarning")  # PyTorch's own use of it
@pytest.mark.parametrize("places", [(0,), (1,), (1, 2), (0, 1), (0, 2)])
@pytest.mark.parametrize("training", [True, False])
def test_tangents_of_running_statistics(training: bool, places: tuple[int, ...]) -> None:
    found = []
    for t in (torch, retrograd):
        forward = t.autograd.forward_ad
        values = [t.arange(12.0).view(3, 2, 2), t.zeros(2), t.ones(2)]
        with forward.dual_level():
            given = [
                forward.make_dual(x, t.ones_like(x)) if place in places else x
                for place, x in enumerate(values)
            ]
            found.append(
                _outcome(
                    lambda t=t, given=given, forward=forward: (
                        forward.unpack_dual(
                            t.nn.functional.batch_norm(*given, training=training)
                        ).tangent
                        is None
                    )
                )
            )
    assert found[0] == found[1]


def test_bags_without_offsets() -> None:
    found = []
    for t in (torch, retrograd):
        layer = t.nn.EmbeddingBag(4, 3, include_last_offset=True)
        places, none = t.tensor([1, 2]), t.tensor([], dtype=t.int64)
        found.append(_outcome(lambda b=layer, i=places, o=none: b(i, o)))
    assert found[0] == found[1]
