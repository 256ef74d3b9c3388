"""Checkpoints and autocast: what is computed again has the autocast of the forward pass."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
import retrograd.utils.checkpoint

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def run(t, reentrant, inside, outside):
    """Gradients, and what was seen on each run of a checkpointed function."""
    t.manual_seed(0)
    model = t.nn.Sequential(t.nn.Linear(4, 4), t.nn.Tanh(), t.nn.Linear(4, 2))
    x = t.randn(3, 4, requires_grad=True)
    seen = []

    def function(x):
        y = model(x)
        seen.append(
            (
                str(y.dtype),
                t.is_autocast_enabled("cpu"),
                str(t.get_autocast_dtype("cpu")) if t.is_autocast_enabled("cpu") else None,
                t.is_autocast_cache_enabled(),
            )
        )
        return y

    def region(settings):
        lower, enabled, cached = settings
        return t.autocast("cpu", dtype=getattr(t, lower), enabled=enabled, cache_enabled=cached)

    with region(inside):
        y = t.utils.checkpoint.checkpoint(
            function, x, use_reentrant=reentrant, **({} if reentrant else {"early_stop": False})
        )
    with region(outside):
        y.float().sum().backward()
    return seen, [x.grad, *(p.grad for p in model.parameters())]


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize(
    ("inside", "outside"),
    [
        (("bfloat16", True, True), ("bfloat16", False, True)),
        (("float16", True, False), ("bfloat16", False, True)),
        (("bfloat16", False, True), ("bfloat16", True, True)),
        (("bfloat16", True, True), ("float16", True, True)),
        (("bfloat16", True, True), ("bfloat16", True, True)),
    ],
)
def test_recomputed_under_the_same_autocast(reentrant, inside, outside):
    ours, theirs = (run(t, reentrant, inside, outside) for t in (retrograd, torch))
    assert ours[0] == theirs[0]
    assert len(ours[0]) == 2 and ours[0][0] == ours[0][1]
    for mine, other in zip(ours[1], theirs[1], strict=True):
        assert str(mine.dtype) == str(other.dtype)
        np.testing.assert_allclose(mine.numpy(), other.numpy(), rtol=3e-2, atol=3e-2)
