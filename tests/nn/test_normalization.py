"""Normalization layers by themselves."""

from __future__ import annotations

import retrograd as torch


def test_evaluation_uses_the_running_statistics_and_leaves_them():
    layer = torch.nn.BatchNorm1d(2, affine=False)
    layer(torch.randn(6, 2))
    before = layer.running_mean.clone()
    layer.eval()
    x = torch.randn(1, 2)
    wanted = (x - layer.running_mean) / (layer.running_var + layer.eps).sqrt()
    assert torch.allclose(layer(x), wanted)
    assert torch.equal(layer.running_mean, before)
    assert layer.num_batches_tracked.item() == 1


def test_without_momentum_the_statistics_are_plain_means():
    layer = torch.nn.BatchNorm1d(1, momentum=None)
    batches = [torch.randn(5, 1) for _ in range(4)]
    for batch in batches:
        layer(batch)
    wanted = torch.stack([batch.mean(0) for batch in batches]).mean(0)
    assert torch.allclose(layer.running_mean, wanted)


def test_converting_leaves_the_count_an_integer():
    layer = torch.nn.BatchNorm2d(3).double()
    assert layer.running_mean.dtype == torch.float64
    assert layer.num_batches_tracked.dtype == torch.int64


def test_statistics_travel_with_the_state():
    first, second = torch.nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)
    first(torch.randn(2, 3, 4, 4))
    assert str(second.load_state_dict(first.state_dict())) == "<All keys matched successfully>"
    assert torch.equal(second.running_var, first.running_var)
    assert second.num_batches_tracked.item() == 1


def test_a_state_without_a_count_keeps_the_count_there_is():
    layer = torch.nn.BatchNorm1d(2)
    layer(torch.randn(4, 2))
    state = dict(layer.state_dict())
    del state["num_batches_tracked"]
    assert layer.load_state_dict(state).missing_keys == []
    assert layer.num_batches_tracked.item() == 1


def test_instance_norm_of_one_example_is_that_of_a_batch_of_one():
    layer = torch.nn.InstanceNorm2d(3, affine=True)
    x = torch.randn(3, 4, 5)
    assert torch.equal(layer(x), layer(x.unsqueeze(0)).squeeze(0))


def test_layer_norm_of_one_number_takes_a_shape_of_one_dimension():
    assert torch.nn.LayerNorm(4).normalized_shape == (4,)
    assert torch.nn.RMSNorm([2, 4]).normalized_shape == (2, 4)


def test_without_a_scale_there_is_no_shift():
    assert torch.nn.GroupNorm(1, 2, affine=False).bias is None
    assert torch.nn.LayerNorm(2, elementwise_affine=False).bias is None
    assert torch.nn.BatchNorm1d(2, affine=False).bias is None
