"""`sum_to` gives NumPy's sums, bit for bit, or declines."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

from retrograd.backend import kernels

pytestmark = pytest.mark.skipif(not kernels.AVAILABLE, reason="compiled kernels are missing")


@st.composite
def problems(draw):
    shape = tuple(draw(st.lists(st.integers(1, 9), max_size=4)))
    lead = draw(st.integers(0, len(shape)))
    kept = [draw(st.sampled_from([size, 1])) for size in shape[lead:]]
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    generator = np.random.default_rng(draw(st.integers(0, 1000)))
    values = generator.standard_normal(shape) * 10.0 ** generator.integers(-6, 6, shape)
    if draw(st.booleans()):
        values = values * 0.0 * -1
    return np.asarray(values).astype(dtype), tuple(kept)


@settings(max_examples=400, deadline=None)
@given(problems())
def test_same_sums_as_numpy(problem):
    part, shape = problem
    found = kernels.sum_to(part, shape)
    lead = part.ndim - len(shape)
    axes = (*range(lead), *(lead + i for i, n in enumerate(shape) if n != part.shape[lead + i]))
    expected = np.asarray(np.add.reduce(part, axis=axes)).reshape(shape)
    assume(found is not None)  # left to NumPy; below, what is not
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()


def test_takes_the_usual_cases():
    part = np.ones((4, 3, 2), np.float32)
    for shape in ((), (2,), (3, 2), (1, 3, 2), (1, 1, 2), (4, 1, 1), (4, 3, 1), (1, 1, 1)):
        assert kernels.sum_to(part, shape) is not None
    assert kernels.sum_to(part, (1, 3, 1)) is None
    assert kernels.sum_to(part, (5, 3, 2)) is None
    assert kernels.sum_to(part.astype(int), (2,)) is None
    assert kernels.sum_to(np.ones(100_000, np.float32), ()) is None
