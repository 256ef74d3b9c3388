"""Copies in rows of arrays whose rows lie across the memory: NumPy's, element for element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.neutral import memory

rows = pytest.importorskip("retrograd.backend.kernels._rows")
pytestmark = pytest.mark.kernels

SHAPES = [
    (),
    (0, 20),
    (3,),
    (1, 300),
    (16, 16),
    (17, 33),
    (40, 8),
    (7, 90),
    (5, 31, 18),
    (2, 9, 3, 40),
]
SHAPES += [(300, 257), (64, 512), (3, 100, 120)]
DTYPES = ["f4", "f8", "i4", "i8", "c8", ">f4", "f2", "?", "c16", "O"]


def filled(shape: tuple[int, ...], dtype: str) -> Any:
    return (np.arange(np.prod(shape, dtype=int)) % 119).reshape(shape).astype(dtype)


def arrangements(array: Any) -> list[Any]:
    axes = range(array.ndim)
    found = [array, array.T, array.transpose(*axes[1:], *axes[:1])]
    if array.ndim > 1:
        found += [array.swapaxes(0, 1), array.T[1:-1], array[::2].T, array[:, ::2].T, array[:1].T]
        found += [array[..., ::-1].T, np.broadcast_to(array.T[:, :1], array.T.shape)]
    for kept in range(array.ndim):  # one element for all dimensions after the first ones
        first = array[(..., *(slice(None, 1),) * (array.ndim - kept))]
        found += [np.broadcast_to(first, array.shape), np.broadcast_to(first[::-1], array.shape)]
    return found


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_as_numpy_copies(shape: tuple[int, ...], dtype: str) -> None:
    for array in arrangements(filled(shape, dtype)):
        found, expected = rows.copy_in_rows(array), memory.copy_in_rows(np, array)  # type: ignore[arg-type]
        assert type(found) is np.ndarray and found.dtype == expected.dtype
        assert (found.shape, found.strides) == (expected.shape, expected.strides)
        assert found.tolist() == expected.tolist()
        assert found.flags.owndata and found.flags.writeable


def test_the_bits_are_kept() -> None:
    array = np.random.default_rng(3).integers(0, 1 << 32, (50, 70), np.uint32).view(np.float32).T
    with np.errstate(all="ignore"):
        assert rows.copy_in_rows(array).tobytes() == array.copy("C").tobytes()


def test_an_address_that_does_not_fit_the_type() -> None:
    bytes_ = np.zeros(50 * 70 * 4 + 1, np.uint8)
    array = bytes_[1:].view(np.float32).reshape(50, 70)
    array[:] = filled((50, 70), "f4")
    assert rows.copy_in_rows(array.T).tolist() == array.T.tolist()


def test_numbers_and_lists() -> None:
    for thing in (np.float32(3), 2.5, [[1, 2], [3, 4]]):
        assert rows.copy_in_rows(thing).tolist() == np.array(thing).tolist()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_in_threads(count: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        array = filled((700, 331), "f4").T
        assert (rows.copy_in_rows(array) == array).all()
    finally:
        torch.set_num_threads(before)


def test_what_copies_with_it() -> None:
    x = torch.arange(40.0 * 30).reshape(40, 30)
    assert CPU.xp.copy_in_rows is rows.copy_in_rows
    assert x.t().contiguous().tolist() == x.t().tolist()
    x.requires_grad_()
    x.t().backward(torch.arange(1200.0).reshape(30, 40))
    assert x.grad.stride() == (30, 1) and x.grad[1, 2] == 2 * 40 + 1  # type: ignore[union-attr]
