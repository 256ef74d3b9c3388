"""Adding rows, reading and adding along a dimension, running sums: in C with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS
from retrograd.backend.neutral import scatter

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
FLOATS = (np.float32, np.float64)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3, dtype)


def places(shape: tuple[int, ...], size: int) -> Any:
    return np.random.default_rng(5).integers(0, size, shape)


def misaligned(x: Any) -> Any:
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    shifted[...] = x
    return shifted


def neutral(name: str, *arguments: Any) -> Any:
    return KERNELS[name][0](CPU.xp, *arguments)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 2, 7, 33, 600])
def test_add_rows(width: int, dtype: Any) -> None:
    index, values = places((50,), 9), numbers((50, width), dtype)
    values[3, 0], values[4, 0] = np.nan, np.inf
    ours, theirs = (numbers((9 * width,), dtype, 1) for _ in range(2))
    assert rows.add_rows(ours, index, values)
    scatter.add_rows(CPU.xp, theirs, index, values)
    assert ours.tobytes() == theirs.tobytes()
    assert rows.add_rows(ours, index[:0], values[:0]) and ours.tobytes() == theirs.tobytes()


def test_add_rows_declines() -> None:
    flat, index, values = np.zeros(12, np.float32), np.array([0, 3]), np.ones((2, 3), np.float32)
    locked = flat.copy()
    locked.flags.writeable = False
    for target in (
        flat.astype(np.float64),
        flat[:11],
        flat.astype(int),
        locked,
        np.ones((2, 24))[::2],
    ):
        assert not rows.add_rows(target, index, values)
    for wrong in ([0, 4], [-1, 0], [2**62, 0], [0], [[0.0, 1.0]]):
        assert not rows.add_rows(flat, np.array(wrong), values)
    assert not rows.add_rows(flat, index.astype(np.int32), values)
    for other in (values[:, ::2], values.reshape(-1), values[:, :0], misaligned(values)):
        assert not rows.add_rows(flat, index, other)
    assert not rows.add_rows(flat, index, flat[:6].reshape(2, 3))  # shares memory
    assert not flat.any()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("shape", "dim"), [((7,), 0), ((5, 9), 1), ((5, 9), 0), ((2, 4, 3), -2)])
@pytest.mark.parametrize("length", [1, 3, 20])
def test_along_a_dimension(shape: tuple[int, ...], dim: int, length: int, dtype: Any) -> None:
    x = numbers(shape, dtype)
    x.flat[2] = np.nan
    named = list(shape)
    named[dim] = length
    index = places(tuple(named), shape[dim])
    source = numbers(tuple(named), dtype, 1)
    before = x.copy()
    assert rows.take_along(x, dim, index).tobytes() == neutral("gather", x, dim, index).tobytes()
    added = rows.add_along(x, dim, index, source, False)
    assert added.tobytes() == neutral("scatter_add", x, dim, index, source).tobytes()
    assert x.tobytes() == before.tobytes()
    assert rows.add_along(x, dim, index, source, True) is x and x.tobytes() == added.tobytes()


def test_along_declines() -> None:
    x, index = numbers((4, 5), np.float32), places((4, 3), 5)
    for dim in (2, -3, 1.0, True, 2**70, None):
        assert rows.take_along(x, dim, index) is None
    for other in (index[:3], index.T, index.reshape(-1), index[:0], index.astype(np.int32), [0]):
        assert rows.take_along(x, 1, other) is None
    for outside in (5, -1, 2**63 - 1):
        wrong = index.copy()
        wrong[2, 1] = outside
        assert rows.take_along(x, 1, wrong) is None
        assert rows.add_along(x, 1, wrong, numbers((4, 3), np.float32), True) is None
    for other in (x.T, x.astype(np.float16), x[:, ::2], misaligned(x), x.tolist()):
        assert rows.take_along(other, 1, index) is None
    for source in (x, x[:, :3], np.ones((4, 3)), np.ones((4, 4), np.float32)):
        assert rows.add_along(x, 1, index, source, False) is None
    with pytest.raises(TypeError, match="takes 3 arguments"):
        rows.take_along(x)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(1,), (5,), (7, 3), (8, 40), (17, 9), (2, 3, 4)])
def test_running_sums(shape: tuple[int, ...], dtype: Any) -> None:
    x = numbers(shape, dtype)
    x[..., 0] = -0.0
    if shape[-1] > 4:
        x[..., 3] = np.inf
    expected = neutral("cumsum", x, -1)
    assert rows.running_sum(x, -1).tobytes() == expected.tobytes()
    assert rows.running_sum(misaligned(x), x.ndim - 1).tobytes() == expected.tobytes()
    turned = np.ascontiguousarray(x[..., ::-1])[..., ::-1]
    assert rows.running_sum(turned, -1).tobytes() == expected.tobytes()


def test_running_sums_decline() -> None:
    x = numbers((4, 5), np.float32)
    for dim in (0, 2, -2, 1.0):
        assert rows.running_sum(x, dim) is None
    for other in (x[:0], x.astype(np.float16), x.astype(int), np.float32(1), x.tolist()):
        assert rows.running_sum(other, -1) is None


def test_errors_are_those_of_the_neutral_kernels() -> None:
    x = torch.ones(3, 4)
    with pytest.raises(RuntimeError, match="index 4 is out of bounds for dimension 1 with size 4"):
        x.gather(1, torch.tensor([[4]] * 3))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        x.scatter_add(1, torch.tensor([[9]] * 3), x)
