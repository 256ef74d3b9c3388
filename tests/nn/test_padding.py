"""Padding layers: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch

LINE = [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (torch.nn.ZeroPad1d((2, 1)), [0, 0, *LINE, 0]),
        (torch.nn.ConstantPad1d(1, 9), [9, *LINE, 9]),
        (torch.nn.ReflectionPad1d((2, 1)), [3, 2, *LINE, 2]),
        (torch.nn.ReplicationPad1d((2, 1)), [1, 1, *LINE, 3]),
        (torch.nn.CircularPad1d((2, 1)), [2, 3, *LINE, 1]),
    ],
    ids=repr,
)
def test_values_of_a_line(layer, expected):
    assert layer(torch.tensor([LINE])).tolist() == [expected]


def test_one_amount_means_every_side():
    assert torch.nn.ZeroPad3d(2).padding == (2,) * 6
    assert torch.nn.ZeroPad2d([1, 2, 3, 4]).padding == (1, 2, 3, 4)


def test_last_dimension_comes_first():
    assert torch.nn.ReplicationPad2d((1, 2, 0, 3))(torch.ones(1, 4, 5)).shape == (1, 7, 8)
