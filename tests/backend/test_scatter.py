"""Indexed accumulation without PyTorch: against NumPy's own `ufunc.at` and plain loops."""

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.neutral import scatter
from tests.backend.bound import bound

scatter = bound(scatter)

rng = np.random.default_rng(0)
TYPES = [np.float32, np.float64, np.int64, np.int32, np.uint8, np.complex64, np.bool_]


def draw(shape, dtype=np.float64):
    return (3 * rng.standard_normal(shape)).astype(dtype)


INDICES = {
    "rows": np.array([3, 0, 3, 3, -1]),
    "rows of a table": np.array([[3, 0], [3, 1]]),
    "pairs": (np.array([3, 0, 3]), np.array([1, 2, 1])),
    "broadcast pairs": (np.array([[3], [0]]), np.array([1, 2, 1])),
    "all three": (np.array([3, 0, 3]), np.array([1, 2, 1]), np.array([-1, 0, -1])),
    "after a slice": (slice(None), np.array([1, 1, 0])),
    "last": (..., np.array([1, 1, 0])),
    "apart": (np.array([3, 3]), slice(0, 2), np.array([1, 1])),
    "with a number": (2, np.array([1, 1])),
    "with a new dimension": (np.array([1, 1]), None, slice(1, None)),
    "with a mask": (np.array([True, False, True, False]), np.array([1, 1])),
    "a mask": np.array([True, False, True, False]),
    "slices": (slice(None, None, 2), slice(1, None)),
    "a number": (1,),
    "nothing": np.array([], np.int64),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", INDICES)
def test_add_at_agrees_with_numpy(name, dtype):
    index = INDICES[name]
    target = draw((4, 3, 2), dtype)
    values = draw(target[index].shape, dtype)
    for start in (target, np.asfortranarray(target)):
        expected, actual = start.copy(order="K"), start.copy(order="K")
        np.add.at(expected, index, values)
        assert scatter.add_at(actual, index, values) is actual
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-5)
        one = target.reshape(-1)[:1]
        np.add.at(expected, index, one)
        np.testing.assert_allclose(
            scatter.add_at(actual, index, one), expected, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_sums_do_not_saturate(dtype):
    ones = np.ones((4096, 2), dtype)
    total = scatter.add_at(np.zeros((3, 2), dtype), np.ones(4096, np.int64), ones)
    assert total.dtype == dtype and total.tolist() == [[0, 0], [4096, 4096], [0, 0]]
    total = scatter.embedding_gradient(np.ones(4096, np.int64), ones, 3)
    assert total.dtype == dtype and total.tolist() == [[0, 0], [4096, 4096], [0, 0]]


def test_many_rows_go_in_blocks(monkeypatch):
    monkeypatch.setattr("retrograd.backend.neutral.scatter._BLOCK_ELEMENTS", 10)
    rows, values = rng.integers(0, 5, 50), draw((50, 4))
    expected = np.zeros((5, 4))
    np.add.at(expected, rows, values)
    np.testing.assert_allclose(scatter.add_at(np.zeros((5, 4)), rows, values), expected)
    np.testing.assert_allclose(scatter.embedding_gradient(rows, values, 5), expected)
    monkeypatch.setattr("retrograd.backend.neutral.scatter._WIDE_ROW", 2)
    np.testing.assert_allclose(scatter.add_at(np.zeros((5, 4)), rows, values), expected)


def test_embedding_options():
    rows = np.array([[1, 2], [1, 0]])
    grads = draw((2, 2, 3))
    plain = scatter.embedding_gradient(rows, grads, 4)
    np.testing.assert_allclose(plain[1], grads[0, 0] + grads[1, 0])
    assert not scatter.embedding_gradient(rows, grads, 4, padding_index=1)[1].any()
    scaled = scatter.embedding_gradient(rows, grads, 4, scale_by_frequency=True)
    np.testing.assert_allclose(scaled[1], plain[1] / 2)
    np.testing.assert_allclose(scaled[[0, 2]], plain[[0, 2]])
    assert scatter.embedding_gradient(rows[:0], grads[:0], 4).shape == (4, 3)


def test_gather_and_scatter_sum_are_adjoint():
    input, index = draw((4, 3, 5)), rng.integers(0, 3, (3, 6, 4))
    read = scatter.gather(input, 1, index)
    values = draw(index.shape)
    back = scatter.scatter_reduce(np.zeros_like(input), 1, index, values, "sum")
    np.testing.assert_allclose(np.vdot(read, values), np.vdot(input, back), rtol=1e-9)
    turned = scatter.gather(np.asfortranarray(input), -2, index)
    assert (turned == read).all()


def test_linear_in_the_values():
    rows, values = rng.integers(0, 4, 9), draw((2, 9, 3))
    first, second = (scatter.embedding_gradient(rows, part, 4) for part in values)
    both = scatter.embedding_gradient(rows, 2 * values[0] + values[1], 4)
    np.testing.assert_allclose(both, 2 * first + second)


def test_reductions_leave_their_arguments_alone():
    target, index, source = np.ones((2, 2)), np.zeros((1, 2), np.int64), np.full((3, 2), 5.0)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        result = scatter.scatter_reduce(target, 0, index, source, reduce)
        assert result is not target and (result[1] == 1).all()
    assert (target == 1).all()
    scatter.scatter(target, 0, index, source)
    assert (target == 1).all()
    with pytest.raises(ValueError, match="median"):
        scatter.scatter_reduce(target, 0, index, source, "median")


def test_arrays_without_dimensions_or_elements():
    zero = np.array(0)
    assert scatter.gather(np.array(7.0), 0, zero).item() == 7
    assert scatter.scatter_reduce(np.array(7.0), 0, zero, np.array(2.0), "sum").item() == 9
    nothing = np.zeros((0, 3))
    index = np.zeros((0, 3), np.int64)
    assert scatter.gather(nothing, 1, index).shape == (0, 3)
    assert scatter.scatter_reduce(nothing, 1, index, nothing, "amax").shape == (0, 3)


def rows(*values):
    return np.array(values)


@pytest.mark.parametrize(
    ("call", "index", "dimension", "size"),
    [
        (lambda a: scatter.gather(a, 0, rows([0, 7])), 7, 0, 3),
        (lambda a: scatter.gather(a, 1, rows([-1])), -1, 1, 2),
        (lambda a: scatter.add_at(a, rows(0, 7), a[0]), 7, 0, 3),
        (lambda a: scatter.add_at(a, rows(-4), a[0]), -4, 0, 3),
        (lambda a: scatter.add_at(a, (slice(None), rows(2)), 1), 2, 0, 2),
        (lambda a: scatter.add_at(a, (rows(1), rows(2)), 1), 2, 1, 2),
        (lambda a: scatter.embedding_gradient(rows(3), a[:1], 3), 3, 0, 3),
    ],
)
def test_bounds(call, index, dimension, size):
    array = np.ones((3, 2))
    with pytest.raises(IndexError) as caught:
        call(array)
    expected = f"index {index} is out of bounds for dimension {dimension} with size {size}"
    assert str(caught.value) == expected
    assert (array == 1).all()
