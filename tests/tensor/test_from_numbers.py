"""Tensors of Python's numbers: compiled, in Python, and what is left to Python."""

import math
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import kernels
from retrograd.backend.kernels import twins
from retrograd.ops.making.construction import array_from

DATA: list[Any] = [
    *(1.5, 3, True, -0.0, math.nan, 2**62, 1e300),
    *([1], [1.0, 2], [True, False], [True, 2], (1, 2.5), [[1, 2], [3, 4]], [(1.0,), [True]]),
    *([[[0.1] * 3] * 2] * 4, [2**53 + 1, 0.5], [-(2**63)]),
]
DTYPES = [None, torch.float32, torch.float64, torch.int64, torch.bool, torch.int32, torch.float16]


@pytest.mark.parametrize("data", DATA, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_same_array(data: Any, dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for function in (kernels.from_numbers, twins.from_numbers):
        monkeypatch.setattr(kernels, "from_numbers", function)
        try:
            made = array_from(data, dtype)
            results.append((made.dtype, made.shape, made.strides, made.tobytes()))
        except (RuntimeError, ValueError, OverflowError) as error:
            results.append((type(error), str(error)))
    assert results[0] == results[1]


LEFT_TO_PYTHON: list[Any] = [
    *([], [[]], [[1], [2, 3]], [[1], 2], [1, [2]], [1j], "text", ["a"], np.ones(2), [np.ones(2)]),
    *({1: 2}, range(3), [2**63], [None], [torch.ones(())]),
]


@pytest.mark.parametrize("data", LEFT_TO_PYTHON, ids=str)
def test_what_is_left_to_python(data: Any) -> None:
    assert kernels.from_numbers(data, None, np.dtype(np.float32)) is None


def test_a_list_that_holds_itself() -> None:
    data: list[Any] = [1.0]
    data[0] = data
    assert kernels.from_numbers(data, None, np.dtype(np.float32)) is None


def test_the_default_dtype_is_that_of_floats() -> None:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor([1.0, 2]).dtype is torch.float64
        assert torch.tensor([1, 2]).dtype is torch.int64
    finally:
        torch.set_default_dtype(before)
