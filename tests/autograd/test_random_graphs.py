"""Random graphs of ops on both libraries: values, gradients and gradients of gradients agree."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

import retrograd
from tests.autograd.random_programs import SHAPES, run, steps

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def values(tensor: Any) -> Any:
    return None if tensor is None else tensor.detach().numpy()


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    shapes=st.lists(st.sampled_from(SHAPES), min_size=1, max_size=3),
    program=steps,
    seed=st.integers(0, 10_000),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_random_graphs(shapes, program, seed, dtype):
    generator = np.random.default_rng(seed)
    arrays = [generator.uniform(-1, 1, shape) for shape in shapes]
    theirs = run(torch, arrays, program, dtype)
    ours = run(retrograd, arrays, program, dtype)
    if isinstance(theirs, str):
        assert theirs == ours
        return
    assert not isinstance(ours, str), ours
    scale = max(1.0, *(float(np.abs(values(g)).max(initial=0)) for g in theirs[2] if g is not None))
    assume(np.isfinite(scale) and scale < 1e8)
    exact, loose = (1e-9, 1e-7) if dtype == "float64" else (1e-4, 1e-2)
    for part, tolerance in ((0, exact), (1, exact), (2, exact), (3, loose)):
        for a, b in zip(ours[part], theirs[part], strict=True):
            if a is None or b is None:
                some = values(a if a is not None else b)
                assert some is None or not some.any()
                continue
            bound = tolerance * max(1.0, float(np.abs(values(b)).max(initial=0)), scale)
            np.testing.assert_allclose(values(a), values(b), rtol=tolerance, atol=bound)
            assert str(a.dtype) == str(b.dtype)
