"""Activation layers: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_old_bounds_of_hardtanh_warn_and_work():
    with pytest.warns(FutureWarning, match="`min_value` is deprecated and renamed to `min_val`"):
        layer = torch.nn.Hardtanh(min_value=-3.0)
    with pytest.warns(FutureWarning, match="`max_value` is deprecated and renamed to `max_val`"):
        other = torch.nn.Hardtanh(max_value=3.0)
    assert (layer.min_val, other.max_val) == (-3.0, 3.0)


def test_softmax_without_a_dimension_warns_at_the_caller():
    with pytest.warns(UserWarning, match="Implicit dimension choice for softmax") as seen:
        result = torch.nn.Softmax()(torch.zeros(2, 4))
    assert seen[0].filename == __file__
    assert result.tolist() == [[0.25] * 4] * 2


def test_in_place_layers_return_their_input():
    for layer in (torch.nn.ReLU(True), torch.nn.ELU(inplace=True), torch.nn.ReLU6(True)):
        x = torch.tensor([-1.0, 7.0])
        assert layer(x) is x
        assert x[0] <= 0


def test_rrelu_draws_only_in_training():
    layer = torch.nn.RReLU(0.1, 0.9)
    x = -torch.ones(50)
    assert len(set(layer(x).tolist())) > 1
    assert layer.eval()(x).tolist() == pytest.approx([-0.5] * 50)


def test_prelu_slope_is_a_parameter_that_learns():
    layer = torch.nn.PReLU(2, init=0.5)
    layer(torch.tensor([[-1.0, -2.0], [3.0, -4.0]])).sum().backward()
    assert layer.weight.tolist() == [0.5, 0.5]
    assert layer.weight.grad.tolist() == [-1.0, -6.0]
