"""Linear and reshaping layers: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_identity_returns_the_input_itself():
    x = torch.ones(2)
    assert torch.nn.Identity(1, other=2)(x) is x


def test_bilinear_is_the_sum_over_pairs():
    layer = torch.nn.Bilinear(2, 3, 1, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6.0).reshape(1, 2, 3))
    assert layer(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 0.0, 3.0])).tolist() == [42.0]
    assert layer.bias is None
    assert list(layer.state_dict()) == ["weight"]


def test_dtype_and_device_reach_the_parameters():
    layer = torch.nn.Bilinear(2, 3, 1, dtype=torch.float64, device="cpu")
    assert {p.dtype for p in layer.parameters()} == {torch.float64}


def test_unflatten_undoes_flatten():
    x = torch.arange(24.0).reshape(2, 3, 4)
    both = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Unflatten(1, (3, 4)))
    assert torch.equal(both(x), x)


def test_unflatten_wants_integers():
    with pytest.raises(TypeError, match="found element of type str at pos 1"):
        torch.nn.Unflatten(1, (2, "3"))
