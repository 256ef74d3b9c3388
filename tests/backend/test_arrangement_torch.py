"""Image functions lay their results in memory as PyTorch does: dropout draws the same masks."""

import pytest

torch = pytest.importorskip("torch")

import retrograd

pytestmark = pytest.mark.torch

FUNCTIONS = {
    "conv2d": lambda L, x: L.conv2d(x, L.ones(5, 4, 3, 3), L.ones(5)),
    "conv2d of one pixel": lambda L, x: L.conv2d(x, L.ones(5, 4, 1, 1)),
    "depthwise": lambda L, x: L.conv2d(x, L.ones(4, 1, 3, 3), groups=4),
    "transposed": lambda L, x: L.conv_transpose2d(x, L.ones(4, 3, 3, 3), stride=2),
    "max_pool2d": lambda L, x: L.max_pool2d(x, 2),
    "its indices": lambda L, x: L.nn.functional.max_pool2d(x, 2, return_indices=True)[1],
    "avg_pool2d": lambda L, x: L.nn.functional.avg_pool2d(x, 2),
    "adaptive average": lambda L, x: L.nn.functional.adaptive_avg_pool2d(x, 3),
    "adaptive maximum": lambda L, x: L.nn.functional.adaptive_max_pool2d(x, 3),
    "batch_norm": lambda L, x: L.nn.functional.batch_norm(x, None, None, training=True),
    "group_norm": lambda L, x: L.nn.functional.group_norm(x, 2),
    "constant pad": lambda L, x: L.nn.functional.pad(x, (1, 2)),
    "reflected pad": lambda L, x: L.nn.functional.pad(x, (1, 2, 1, 1), mode="reflect"),
    "circular pad": lambda L, x: L.nn.functional.pad(x, (1, 2, 1, 1), mode="circular"),
    "nearest": lambda L, x: L.nn.functional.interpolate(x, scale_factor=2),
    "bilinear": lambda L, x: L.nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    "pixel_shuffle": lambda L, x: L.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda L, x: L.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda L, x: L.channel_shuffle(x, 2),
    "cat": lambda L, x: L.cat([x, x], 1),
    "cat of two kinds": lambda L, x: L.cat([x, L.ones(x.shape)], 1),
    "softmax": lambda L, x: L.softmax(x, 1),
    "log_softmax": lambda L, x: L.log_softmax(x, -1),
}
INPUTS = {
    "contiguous": lambda x: x,
    "channels last": lambda x: x.transpose(1, 3).contiguous().transpose(1, 3),
    "some of more channels": lambda x: x.repeat(1, 2, 1, 1).permute(0, 2, 3, 1).contiguous()
    .permute(0, 3, 1, 2)[:, 2:6],
    "one sample": lambda x: x[:1].permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2),
    "transposed": lambda x: x.transpose(2, 3),
}  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("arrangement", INPUTS)
def test_strides_and_the_mask_of_a_dropout(function, arrangement):
    found = []
    for library in (torch, retrograd):
        values = library.linspace(-1, 2, 2 * 4 * 6 * 6).view(2, 4, 6, 6)
        result = FUNCTIONS[function](library, INPUTS[arrangement](values))
        library.manual_seed(0)
        mask = library.dropout(library.ones_like(result, dtype=library.float32), 0.5, True)
        found.append([list(result.shape), list(result.stride()), mask.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_volumes_and_channels_last_weights(kind):
    found = []
    for library in (torch, retrograd):
        dtype = getattr(library, kind)
        volume = library.ones(2, 4, 4, 4, 4, dtype=dtype)
        volume = volume.contiguous(memory_format=library.channels_last_3d)
        kernel = library.ones(3, 4, 2, 2, dtype=dtype)
        kernel = kernel.contiguous(memory_format=library.channels_last)
        results = [
            library.conv3d(volume, library.ones(3, 4, 2, 2, 2, dtype=dtype)),
            library.nn.functional.max_pool3d(volume, 2),
            library.nn.functional.avg_pool3d(volume, 2),
            library.nn.functional.interpolate(volume, scale_factor=2),
            library.conv2d(library.ones(2, 4, 5, 5, dtype=dtype), kernel),
            library.nn.functional.batch_norm(volume[:, :, 0, 0].transpose(1, 2), None, None,
                                             training=True),
        ]  # fmt: skip
        found.append([list(result.stride()) for result in results])
    assert found[0] == found[1]
