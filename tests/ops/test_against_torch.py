"""Every declared op over its samples, compared with real PyTorch."""

from __future__ import annotations

import pytest

from tests.each import for_each_op
from tests.ops.compare import cases, compare

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES = [(name, sample, dtype) for name, sample in cases() for dtype in sample.dtypes]


@for_each_op(CASES)
def test_same_as_torch(name, sample, dtype):
    compare(name, sample, torch, dtype)
    if dtype == "float64":
        compare(name, sample, torch, dtype, noncontiguous=True)
