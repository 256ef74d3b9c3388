"""A large array and a row, a column or an element: NumPy's bits without NumPy's iterator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

compiled = pytest.importorskip("retrograd.backend.kernels._tiny")
import retrograd as torch
from retrograd.backend.kernels import twins

pytestmark = pytest.mark.kernels

BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
# rows that are repeated, rows that are not, columns, elements, both; long and short
SHAPES = [
    ((70, 61), (61,)),
    ((70, 61), (1, 61)),
    ((2000, 3), (3,)),
    ((300, 1024), (1024,)),
    ((70, 61), (70, 1)),
    ((1500, 3), (1500, 1)),
    ((300, 1024), (300, 1)),
    ((5, 37, 29), (37, 1)),
    ((5, 37, 29), (37, 29)),
    ((5, 37, 29), (5, 1, 1)),
    ((5, 37, 29), (5, 1, 29)),
    ((5000,), ()),
    ((90_000,), (1,)),
    ((90, 1000), (1, 1)),
    ((1, 5000), (3, 1)),
]
SPECIAL = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-42, 3e38]


@pytest.fixture(params=[1, 3])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    generator = np.random.default_rng(seed)
    found = np.asarray(generator.standard_normal(shape), dtype)
    if found.ndim:
        chosen = generator.random(shape) < 0.2
        found[chosen] = generator.choice(SPECIAL, int(chosen.sum()))
    return found


def bits(array: Any) -> tuple[Any, ...]:
    """Every nan as one: which of two stays is open."""
    plain = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.shape, array.dtype, array.flags.c_contiguous, plain.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", BINARY)
def test_the_bits_are_those_of_numpy(name: str, dtype: Any, threads: int) -> None:
    ours, theirs = getattr(compiled, name), getattr(twins, name)
    for large_shape, small_shape in SHAPES:
        large, small = numbers(large_shape, dtype, 0), numbers(small_shape, dtype, 1)
        for pair in ((large, small), (small, large)):
            assert bits(ours(*pair)) == bits(theirs(*pair)), (large_shape, small_shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide"])
def test_into_an_array(name: str, dtype: Any, threads: int) -> None:
    ours, theirs = getattr(compiled, name), getattr(twins, name)
    for large_shape, small_shape in SHAPES[:-1]:
        large, small = numbers(large_shape, dtype, 0), numbers(small_shape, dtype, 1)
        expected = theirs(large, small)
        target = np.empty_like(large)
        assert ours(large, small, target) is target and bits(target) == bits(expected)
        assert ours(large, small, large) is large and bits(large) == bits(expected)


def test_added_in_place(threads: int) -> None:
    large, row = numbers((300, 1024), np.float32, 0), numbers((1024,), np.float32, 1)
    expected = twins.add(large, row)
    compiled.iadd(large, row)
    assert bits(large) == bits(expected)


def test_operands_that_overlap_the_target_are_read_before_it_is_written(threads: int) -> None:
    for shift in (0, 1, 3):
        memory = numbers((70 * 61 + shift,), np.float32, 0)
        large, target = memory[: 70 * 61].reshape(70, 61), memory[shift:].reshape(70, 61)
        row = large[2]  # in the target too
        for operands in ((large, row.copy()), (large.copy(), target[2])):
            expected = twins.add(*[x.copy() for x in operands])
            before = memory.copy()
            compiled.add(*operands, target)
            assert bits(target) == bits(expected)
            memory[:] = before


def test_what_lies_otherwise_is_left_to_numpy(threads: int) -> None:
    large, row = (np.random.default_rng(0).random(shape, np.float32) for shape in ((70, 122), 61))
    raw = np.zeros(row.nbytes + 1, np.uint8)[1:].view(np.float32)
    raw[:] = row
    read_only = np.ascontiguousarray(large[:, :61])
    read_only.flags.writeable = False
    for pair in (
        (large[:, ::2], row),
        (np.asfortranarray(large[:, :61]), row),
        (large[:, :61].copy(), raw),
        (large[:, :61].copy(), row[::-1]),
        (large[:, :61].copy(), row.astype(np.float64)),
        (large[:, :61].astype(np.float16), row),
        (large[:, :61].astype(np.int64), row),
        (large[:, :61].astype(">f4"), row),
        (large[:0, :61], row),
    ):
        found, expected = compiled.add(*pair), twins.add(*pair)
        assert found.tobytes() == expected.tobytes() and found.dtype == expected.dtype
        assert found.strides == expected.strides
    with pytest.raises(ValueError, match="could not be broadcast"):
        compiled.add(large, row)
    with pytest.raises(ValueError, match="read-only"):
        compiled.add(read_only, row, read_only)


def test_ops_use_it_forward_and_backward(threads: int) -> None:
    x = torch.rand(300, 500, requires_grad=True)
    bias = torch.rand(500, requires_grad=True)
    y = (x + bias) / x.detach().sum(1, keepdim=True)
    y.sum().backward()
    expected = (x.detach().numpy() + bias.detach().numpy()) / x.detach().numpy().sum(1)[:, None]
    assert np.allclose(y.detach().numpy(), expected, rtol=1e-5)
    assert x.grad is not None and bias.grad is not None and bias.grad.shape == (500,)
