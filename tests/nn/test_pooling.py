"""Pooling layers by themselves."""

from __future__ import annotations

import retrograd as torch


def test_stride_is_the_window_unless_given():
    assert torch.nn.MaxPool2d((2, 3)).stride == (2, 3)
    assert torch.nn.AvgPool2d(3).stride == 3
    assert torch.nn.AvgPool1d(3).stride == (3,)
    assert torch.nn.LPPool2d(2, 3).stride is None


def test_indices_come_only_when_asked_for():
    x = torch.randn(1, 4, 4)
    assert isinstance(torch.nn.MaxPool2d(2)(x), torch.Tensor)
    values, places = torch.nn.MaxPool2d(2, return_indices=True)(x)
    assert torch.equal(x.flatten()[places.flatten()], values.flatten())


def test_unpooling_undoes_pooling_of_what_it_kept():
    x = torch.randn(2, 3, 6, 6)
    pool, unpool = torch.nn.MaxPool2d(2, return_indices=True), torch.nn.MaxUnpool2d(2)
    values, places = pool(x)
    again, where = pool(unpool(values.abs(), places))
    assert torch.equal(again, values.abs())
    assert torch.equal(where, places)


def test_nothing_to_train_and_nothing_to_save():
    for layer in (torch.nn.MaxPool1d(2), torch.nn.AvgPool3d(2), torch.nn.AdaptiveAvgPool2d(1)):
        assert list(layer.parameters()) == []
        assert len(layer.state_dict()) == 0
