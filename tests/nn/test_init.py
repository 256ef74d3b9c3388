"""Initialisers: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_parameters_are_filled_without_history():
    weight = torch.nn.Parameter(torch.zeros(3, 4))
    for fill in (
        torch.nn.init.orthogonal_,
        torch.nn.init.trunc_normal_,
        torch.nn.init.eye_,
        torch.nn.init.xavier_uniform_,
    ):
        assert fill(weight) is weight
        assert weight.is_leaf
        assert weight.grad_fn is None
        assert weight.requires_grad


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 3, 2)])
def test_orthogonal_rows_or_columns(shape):
    weight = torch.nn.init.orthogonal_(torch.empty(shape, dtype=torch.float64)).reshape(
        shape[0], -1
    )
    rows, columns = weight.shape
    product = weight @ weight.T if rows <= columns else weight.T @ weight
    assert torch.allclose(product, torch.eye(min(rows, columns), dtype=torch.float64))


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (0.5, 0.6), (2.0, 5.0)])
def test_truncated_values_stay_inside(low, high):
    drawn = torch.nn.init.trunc_normal_(torch.empty(2000), a=low, b=high)
    assert low <= drawn.min()
    assert drawn.max() <= high
    assert len(set(drawn.tolist())) > 1900


def test_dirac_passes_the_input_through():
    weight = torch.nn.init.dirac_(torch.empty(4, 2, 3, 3), groups=2)
    x = torch.arange(64.0).reshape(1, 4, 4, 4)
    assert torch.equal(torch.nn.functional.conv2d(x, weight, padding=1, groups=2), x)


def test_sparse_columns_have_the_asked_share_of_zeros():
    weight = torch.nn.init.sparse_(torch.empty(10, 5), sparsity=0.25)
    assert (weight == 0).sum(0).tolist() == [3] * 5


def test_orthogonal_of_nothing_is_left_alone():
    empty = torch.empty(0, 3)
    assert torch.nn.init.orthogonal_(empty) is empty
