"""PixelShuffle, ChannelShuffle, Upsample, Fold and distances: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_pixel_unshuffle_undoes_pixel_shuffle():
    x = torch.arange(16.0).reshape(4, 2, 2)
    assert torch.equal(torch.nn.PixelUnshuffle(2)(torch.nn.PixelShuffle(2)(x)), x)


def test_channel_shuffle_interleaves():
    x = torch.arange(6.0).reshape(1, 6, 1)
    assert torch.nn.ChannelShuffle(2)(x).flatten().tolist() == [0, 3, 1, 4, 2, 5]


def test_fold_counts_how_often_unfold_took_each_pixel():
    blocks = torch.nn.Unfold(2)(torch.ones(1, 1, 3, 3))
    assert torch.nn.Fold((3, 3), 2)(blocks).tolist() == [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]


def test_upsample_keeps_its_settings():
    layer = torch.nn.UpsamplingBilinear2d(scale_factor=2)
    assert (layer.scale_factor, layer.mode, layer.align_corners) == (2.0, "bilinear", True)
    assert layer.name == "UpsamplingBilinear2d"
    assert torch.nn.Upsample(scale_factor=(2, 3)).scale_factor == (2.0, 3.0)


def test_distances_of_plain_vectors():
    x, y = torch.tensor([[3.0, 0.0]]), torch.tensor([[0.0, 4.0]])
    assert torch.nn.PairwiseDistance(eps=0.0)(x, y).tolist() == [5.0]
    assert torch.nn.PairwiseDistance(p=1, eps=0.0, keepdim=True)(x, y).tolist() == [[7.0]]
    assert torch.nn.CosineSimilarity()(x, -2 * x).item() == pytest.approx(-1.0)
