"""Dropout layers: what needs no second library."""

from __future__ import annotations

import retrograd as torch


def test_evaluation_returns_the_input_itself():
    x = torch.ones(3)
    assert torch.nn.Dropout().eval()(x) is x


def test_what_is_kept_is_scaled_and_the_gradient_with_it():
    torch.manual_seed(0)
    x = torch.ones(1000, requires_grad=True)
    result = torch.nn.Dropout(0.75)(x)
    result.sum().backward()
    assert set(result.tolist()) == {0.0, 4.0}
    assert x.grad.tolist() == result.tolist()
    assert 200 < (result > 0).sum() < 300


def test_channels_drop_as_a_whole():
    torch.manual_seed(0)
    result = torch.nn.Dropout2d(0.5)(torch.ones(1, 40, 3, 3))
    totals = set(result.sum((2, 3)).flatten().tolist())
    assert totals == {0.0, 18.0}


def test_in_place_writes_the_input():
    x = torch.ones(8)
    assert torch.nn.Dropout(1.0, inplace=True)(x) is x
    assert x.sum() == 0
