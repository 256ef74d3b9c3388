"""Square brackets without PyTorch: NumPy gives the values where both agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import retrograd as torch


def block() -> Any:
    return np.arange(24.0).reshape(2, 3, 4)


@st.composite
def indices(draw: Any) -> Any:
    """An index of a (2, 3, 4) block on which NumPy and PyTorch agree."""
    basic = arrays.basic_indices((2, 3, 4), allow_newaxis=True, max_dims=6)
    index = draw(basic)
    parts = index if isinstance(index, tuple) else (index,)
    # steps backwards do not exist here
    return tuple(
        slice(p.start, p.stop, None) if isinstance(p, slice) and (p.step or 1) < 0 else p
        for p in parts
    )


@given(indices())
def test_basic_indices_are_views_with_numpys_values(index: Any) -> None:
    x = torch.from_numpy(block())
    result = x[index]
    expected = block()[index]
    assert result.shape == np.shape(expected)
    np.testing.assert_array_equal(result.numpy(), expected)
    assert result._is_view() and result._base is x


@given(indices(), st.floats(-10, 10))
def test_basic_writes_are_numpys(index: Any, value: float) -> None:
    x = torch.from_numpy(block())
    expected = block()
    x[index] = value
    expected[index] = value
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x._version == 1


@given(indices())
def test_the_gradient_of_a_view_marks_its_elements(index: Any) -> None:
    x = torch.from_numpy(block()).requires_grad_()
    x[index].sum().backward()
    expected = np.zeros((2, 3, 4))
    expected[index] = 1
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@given(arrays.integer_array_indices((2, 3, 4), result_shape=arrays.array_shapes(max_dims=2)))
def test_integer_arrays_are_copies_with_numpys_values(index: Any) -> None:
    x = torch.from_numpy(block()).requires_grad_()
    result = x[tuple(torch.from_numpy(part.astype(np.int64)) for part in index)]
    np.testing.assert_array_equal(result.detach().numpy(), block()[index])
    assert not result._is_view()
    assert type(result.grad_fn).__name__ == "IndexBackward0"
    result.sum().backward()
    expected = np.zeros((2, 3, 4))
    np.add.at(expected, index, 1)  # an element that is read twice counts twice
    np.testing.assert_array_equal(x.grad.numpy(), expected)


@given(arrays.arrays(np.bool_, (2, 3, 4)), st.floats(-10, 10))
def test_masks(mask: Any, value: float) -> None:
    x = torch.from_numpy(block())
    chosen = torch.from_numpy(mask)
    np.testing.assert_array_equal(x[chosen].numpy(), block()[mask])
    np.testing.assert_array_equal(torch.nonzero(chosen).numpy(), np.argwhere(mask))
    x[chosen] = value
    np.testing.assert_array_equal(x.numpy(), np.where(mask, value, block()))


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (2, IndexError, "index 2 is out of bounds for dimension 0 with size 2"),
        ((0, -4), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (1.5, IndexError, "only integers, slices"),
        ([0, 7], IndexError, "index 7 is out of bounds for dimension 0 with size 2"),
        ([True] * 3, IndexError, "The shape of the mask [3] at index 0 does not match"),
        (([0, 1], [0, 1, 2]), IndexError, "shape mismatch: indexing tensors could not be"),
    ],
)
def test_errors(index: Any, error: type[Exception], text: str) -> None:
    x = torch.from_numpy(block())
    with pytest.raises(error) as caught:
        x[index]
    assert str(caught.value).startswith(text)
    with pytest.raises(error) as caught:
        x[index] = 1.0
    assert str(caught.value).startswith(text)
    assert x._version == 0


def test_a_row_written_in_a_graph() -> None:
    weight = torch.ones(3, requires_grad=True)
    x = torch.zeros(2, 3)
    x[1] = weight * 2
    x[0, torch.tensor([2])] = weight[0] * 5
    x.sum().backward()
    assert weight.grad.tolist() == [7.0, 2.0, 2.0]
    assert type(x.grad_fn).__name__ == "CopySlices"
