"""PixelShuffle, ChannelShuffle, Upsample, Fold and distances beside PyTorch's."""

from __future__ import annotations

import pytest

from tests.nn.beside import case, compare, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CASES = [
    case("PixelShuffle", 2, inputs=(2, 8, 2, 3)),
    case("PixelShuffle", 3, inputs=(9, 2, 1)),
    case("PixelUnshuffle", 2, inputs=(1, 2, 4, 6)),
    case("PixelUnshuffle", downscale_factor=2, inputs=(2, 4, 6)),
    case("ChannelShuffle", 2, inputs=(1, 4, 2, 2)),
    case("ChannelShuffle", 3, inputs=(2, 6, 3)),
    case("Upsample", 5, inputs=(1, 2, 3)),
    case("Upsample", scale_factor=2, inputs=(1, 2, 2, 3)),
    case("Upsample", scale_factor=(2, 1.5), mode="bilinear", inputs=(1, 2, 2, 4)),
    case("Upsample", (4, 5), mode="bilinear", align_corners=True, inputs=(1, 1, 3, 3)),
    case("Upsample", (4, 5), mode="bicubic", inputs=(1, 1, 3, 3)),
    case("Upsample", scale_factor=1.7, mode="linear", recompute_scale_factor=True,
         inputs=(1, 2, 3)),
    case("Upsample", scale_factor=2, mode="trilinear", inputs=(1, 1, 2, 2, 2)),
    case("Upsample", scale_factor=0.5, mode="nearest-exact", inputs=(1, 1, 4, 6)),
    case("UpsamplingNearest2d", scale_factor=2, inputs=(1, 2, 2, 3)),
    case("UpsamplingNearest2d", (3, 4), inputs=(1, 2, 2, 3)),
    case("UpsamplingBilinear2d", scale_factor=2, inputs=(1, 2, 2, 3)),
    case("UpsamplingBilinear2d", size=(3, 4), inputs=(1, 2, 2, 3)),
    case("Fold", (4, 5), (2, 3), inputs=(1, 12, 9)),
    case("Fold", 4, 2, 1, 1, 2, inputs=(8, 9)),
    case("Unfold", (2, 3), inputs=(2, 2, 4, 5)),
    case("Unfold", 2, dilation=2, padding=1, stride=(1, 2), inputs=(1, 2, 4, 5)),
    case("Unfold", 2, inputs=(2, 3, 3)),
    case("PairwiseDistance", inputs=[(4, 3), (4, 3)]),
    case("PairwiseDistance", 3.0, 1e-3, True, inputs=[(4, 3), (1, 3)]),
    case("PairwiseDistance", p=1, inputs=[(3,), (4, 3)]),
    case("CosineSimilarity", inputs=[(4, 3), (4, 3)]),
    case("CosineSimilarity", 0, 1e-3, inputs=[(4, 3), (4, 1)]),
    case("CosineSimilarity", dim=-1, inputs=[(2, 4, 3), (3,)]),
]  # fmt: skip


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    compare(torch, chosen)


ERRORS = {
    "PixelShuffle channels": lambda t: t.nn.PixelShuffle(2)(t.ones(3, 2, 2)),
    "PixelUnshuffle size": lambda t: t.nn.PixelUnshuffle(2)(t.ones(1, 3, 2)),
    "ChannelShuffle groups": lambda t: t.nn.ChannelShuffle(3)(t.ones(1, 4, 2)),
    "Upsample without size": lambda t: t.nn.Upsample()(t.ones(1, 1, 2)),
    "Upsample with both": lambda t: t.nn.Upsample(2, 2.0)(t.ones(1, 1, 2)),
    "Upsample corners": lambda t: t.nn.Upsample(2, align_corners=True)(t.ones(1, 1, 2)),
    "Fold blocks": lambda t: t.nn.Fold((4, 5), (2, 3))(t.ones(1, 12, 8)),
    "Unfold too large": lambda t: t.nn.Unfold(5)(t.ones(1, 1, 3, 3)),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)
