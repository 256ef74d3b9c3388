"""The same generator and the same arrays in PyTorch and here, and their comparison."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from ml_dtypes import bfloat16

from retrograd.random.generator import Generator

HALVES, FULL = ("float16", "bfloat16"), ("float32", "float64")
FLOATS, COMPLEX = HALVES + FULL, ("complex64", "complex128")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint16", "uint32", "uint64")


def numpy_dtype(name: str) -> Any:
    return np.dtype(bfloat16) if name == "bfloat16" else np.dtype(name)


def torch_dtype(name: str) -> Any:
    return getattr(torch, name)


def to_torch(array: Any) -> Any:
    if array.dtype == bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(tensor: Any) -> Any:
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(bfloat16)
    return tensor.numpy()


class Pair:
    """A generator of PyTorch's and one of ours, in step."""

    def __init__(self, seed: int) -> None:
        self.torch = torch.Generator().manual_seed(seed)
        self.ours = Generator().manual_seed(seed)

    def check(self, theirs: Any, ours: Any, what: str) -> None:
        expected = to_numpy(theirs)
        assert ours.dtype == expected.dtype, what
        assert ours.shape == expected.shape, what
        bits = f"V{ours.itemsize}"
        flat, expected = (np.ascontiguousarray(a).ravel() for a in (ours, expected))
        both_nan = (flat != flat) & (expected != expected)
        differ = np.flatnonzero((flat.view(bits) != expected.view(bits)) & ~both_nan)
        if differ.size:
            shown = [(i, expected[i], flat[i]) for i in differ[:3]]
            pytest.fail(f"{what}: {differ.size} of {ours.size} values differ: {shown}")
        self.in_step(what)

    def in_step(self, what: str) -> None:
        ours, theirs = self.ours.get_state_array(), self.torch.get_state().numpy()
        assert np.array_equal(ours, theirs), f"{what}: the states differ"


def targets(pick: random.Random, count: int, dtype: str) -> tuple[Any, Any]:
    """The same uninitialised target in both worlds: contiguous or in one of several layouts."""
    rows = next(r for r in (4, 3, 2, 1) if count % r == 0)
    columns = count // rows
    layouts: list[tuple[tuple[int, ...], Callable[[Any], Any]]] = [
        ((count,), lambda a: a),
        ((rows, columns), lambda a: a),
        ((2 * count,), lambda a: a[::2]),
        ((rows, columns), lambda a: a.T),
        ((columns, 3, rows), lambda a: a.swapaxes(2, 0)[:, 1]),
        ((columns + 1, 1, rows + 2), lambda a: a.swapaxes(1, 2)[1:, :rows]),
    ]
    shape, view = pick.choice([layouts[0], *layouts])
    memory = np.zeros(shape, numpy_dtype(dtype))
    return view(to_torch(memory.copy())), view(memory)
