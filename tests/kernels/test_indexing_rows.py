"""Reading and adding through an index, running sums: in C with NumPy's bits."""

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
    x.flat[2] = np.inf
    named = list(shape)
    named[dim] = length
    index = places(tuple(named), shape[dim])
    source = numbers(tuple(named), dtype, 1)
    before = x.copy()
    assert rows.take_along(x, dim, index).tobytes() == neutral("gather", x, dim, index).tobytes()
    added = rows.add_along(x, dim, index, source)
    assert added.tobytes() == neutral("scatter_add", x, dim, index, source).tobytes()
    assert x.tobytes() == before.tobytes()
    added = rows.add_along(shape, dim, index, source)
    assert added.tobytes() == neutral("scatter_add", np.zeros_like(x), dim, index, source).tobytes()


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
        assert rows.add_along(x, 1, wrong, numbers((4, 3), np.float32)) is None
    for other in (x.T, x.astype(complex), x.astype(object), x[:, ::2], misaligned(x), x.tolist()):
        assert rows.take_along(other, 1, index) is None
    for source in (x, x[:, :3], np.ones((4, 3)), np.ones((4, 4), np.float32)):
        assert rows.add_along(x, 1, index, source) is None
    source = numbers((4, 3), np.float32)
    for target in ((4, 0), (4,), (3, 5), (4, -5), (4, 5.0), (4, 2**70), [4, 5], x.T, None):
        assert rows.add_along(target, 1, index, source) is None
    with pytest.raises(TypeError, match="takes 3 arguments"):
        rows.take_along(x)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "int32", "float32", "int64"])
def test_elements_of_any_type_are_moved(dtype: str) -> None:
    x = np.arange(40).reshape(5, 8).astype(dtype)
    for index in (places((5, 1), 8), places((5, 700), 8)):
        assert np.array_equal(rows.take_along(x, 1, index), np.take_along_axis(x, index, 1))
    vector = places((600,), 5)
    for dim in (0, 1):
        found = rows.take_slices(x, dim, vector)
        assert found.dtype == x.dtype and np.array_equal(found, np.take(x, vector, dim))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 2, 4, 7, 33, 600])
@pytest.mark.parametrize(("shape", "dim"), [((9,), 0), ((9, 2), 0), ((3, 9), 1), ((2, 9, 3), -2)])
def test_slices(shape: tuple[int, ...], dim: int, width: int, dtype: Any) -> None:
    x = numbers((*shape, width), dtype)
    dim += 0 if dim >= 0 else -1
    index = places((2, 3), 6)  # so that some are named twice, and some never
    taken = rows.take_slices(x, dim, index)
    assert taken.tobytes() == np.take(x, index, dim).tobytes() and taken.dtype == x.dtype
    vector = index.reshape(-1)
    source = numbers(np.take(x, vector, dim).shape, dtype, 1)
    source.flat[0], source.flat[-1] = -0.0, np.nan
    before = x.copy()
    added = rows.add_slices(x, dim, vector, source)
    assert added.tobytes() == neutral("index_add", x, dim, vector, source).tobytes()
    assert x.tobytes() == before.tobytes()
    gradient = neutral("_index_select_gradient", source, x.shape, dim, vector)
    assert rows.add_slices(x.shape, dim, vector, source).tobytes() == gradient.tobytes()


def test_slices_decline() -> None:
    x, index, source = numbers((4, 5), np.float32), np.array([3, 0]), numbers((2, 5), np.float32)
    for dim in (2, -3, 1.0, True, 2**70, None):
        assert rows.take_slices(x, dim, index) is None
        assert rows.add_slices(x, dim, index, source) is None
    for outside in (4, -1, -(2**63), 2**63 - 1):
        wrong = np.array([0, outside])
        assert rows.take_slices(x, 0, wrong) is None
        assert rows.add_slices(x, 0, wrong, source) is None
        assert rows.add_slices((4, 5), 0, wrong, source) is None
    every_other = np.array([3, 1, 0, 2])[::2]
    for other in (index[:0], every_other, index.astype("i4"), index.astype(">i8"), [0, 1], 0):
        assert rows.take_slices(x, 0, other) is None
        assert rows.add_slices(x, 0, other, source) is None
    for other in (x.T, x[:, ::2], misaligned(x), x.astype(object), x[:0], x[0, 0], x.tolist()):
        assert rows.take_slices(other, 0, index) is None
        assert rows.add_slices(other, 0, index, source) is None
    assert rows.add_slices(x, 0, index, source.astype(float)) is None
    assert rows.add_slices(x, 0, np.array([[3, 0]]), source) is None
    assert rows.add_slices(x, 0, index, misaligned(source)) is None
    pairs = np.zeros(4).view(np.float32)[1:7].reshape(3, 2)  # would be moved as 8 bytes
    assert rows.take_slices(pairs, 0, np.array([2])) is None


@pytest.mark.parametrize("dim", [0, 1])
def test_many_threads_give_the_bits_of_one(dim: int) -> None:
    x = numbers((700, 300), np.float32)
    index, vector = places((700, 300), x.shape[dim]), places((x.shape[dim],), x.shape[dim])
    source = numbers((700, 300), np.float32, 1)

    def all_of_them() -> list[bytes]:
        found = [rows.take_along(x, dim, index), rows.take_slices(x, dim, vector)]
        for target in (x, x.shape):
            found.append(rows.add_along(target, dim, index, source))
            found.append(rows.add_slices(target, dim, vector, source))
        wrong = index.copy()
        wrong[-1, -1] = 700
        assert rows.take_along(x, dim, wrong) is rows.add_along(x, dim, wrong, source) is None
        return [array.tobytes() for array in found]

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        alone = all_of_them()
        torch.set_num_threads(3)
        assert all_of_them() == alone
    finally:
        torch.set_num_threads(before)


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
    expected = neutral("_reversed_cumsum", x, -1)
    assert rows.sum_to_end(x, -1).tobytes() == expected.tobytes()
    assert rows.sum_to_end(turned, x.ndim - 1).tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["running_sum", "sum_to_end"])
def test_running_sums_decline(name: str) -> None:
    run, x = getattr(rows, name), numbers((4, 5), np.float32)
    for dim in (0, 2, -2, 1.0):
        assert run(x, dim) is None
    for other in (x[:0], x.astype(np.float16), x.astype(int), np.float32(1), x.tolist()):
        assert run(other, -1) is None


def test_errors_are_those_of_the_neutral_kernels() -> None:
    x = torch.ones(3, 4)
    with pytest.raises(RuntimeError, match="index 4 is out of bounds for dimension 1 with size 4"):
        x.gather(1, torch.tensor([[4]] * 3))
    with pytest.raises(RuntimeError, match="index 9 is out of bounds"):
        x.scatter_add(1, torch.tensor([[9]] * 3), x)
    with pytest.raises(IndexError, match="index out of range in self"):
        x.index_select(0, torch.tensor([3]))
    with pytest.raises(IndexError, match="index out of range in self"):
        torch.nn.functional.embedding(torch.tensor([-1]), x)
    with pytest.raises(RuntimeError, match="index 3 is out of bounds for dimension 0 with size 3"):
        x.index_add(0, torch.tensor([3]), x[:1])


def test_the_padding_row_of_an_embedding_has_no_gradient() -> None:
    table = torch.ones(4, 3, requires_grad=True)
    found = torch.nn.functional.embedding(torch.tensor([[1, 0], [1, 3]]), table, padding_idx=1)
    found.backward(torch.full((2, 2, 3), float("inf")))
    assert table.grad is not None
    assert table.grad.tolist() == [[float("inf")] * 3, [0.0] * 3, [0.0] * 3, [float("inf")] * 3]
