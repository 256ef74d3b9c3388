"""Images of bytes, resized: the same bytes as PyTorch's, for any sizes and layouts."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SIDES = st.integers(1, 40)
WANTED = st.integers(
    2, 40
)  # PyTorch ends with an internal error where three channels become one pixel


def resized(library: Any, pixels: Any, channels_last: bool, **options: Any) -> Any:
    images = library.from_numpy(pixels)
    if channels_last:
        images = images.to(memory_format=library.channels_last)
    found = library.nn.functional.interpolate(images, **options)
    return found.tolist(), str(found.dtype).rpartition(".")[2], found.stride()


@settings(max_examples=150, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 2), st.integers(1, 4), SIDES, SIDES),
    size=st.tuples(WANTED, WANTED),
    mode=st.sampled_from(["bilinear", "bicubic"]),
    antialias=st.booleans(),
    align_corners=st.booleans(),
    channels_last=st.booleans(),
    seed=st.integers(0, 99),
)
def test_bytes(
    shape: Any,
    size: Any,
    mode: str,
    antialias: bool,
    align_corners: bool,
    channels_last: bool,
    seed: int,
) -> None:
    pixels = np.random.default_rng(seed).integers(256, size=shape, dtype=np.uint8)
    options = dict(size=size, mode=mode, antialias=antialias, align_corners=align_corners)
    ours = resized(retrograd, pixels, channels_last, **options)
    theirs = resized(torch, pixels, channels_last, **options)
    assert ours[:2] == theirs[:2]
    if min(*shape[1:], *size) > 1:  # else nothing lies along a dimension, and strides are free
        assert ours[2] == theirs[2]


@pytest.mark.parametrize("factor", [(0.7, 1.3), 0.5, 2.0])
@pytest.mark.parametrize("again", [None, True])
def test_factors(factor: Any, again: Any) -> None:
    pixels = np.arange(2 * 3 * 20 * 17, dtype=np.int64).reshape(2, 3, 20, 17).astype(np.uint8)
    options = dict(scale_factor=factor, mode="bilinear", recompute_scale_factor=again)
    assert resized(retrograd, pixels, False, **options) == resized(torch, pixels, False, **options)


def test_what_is_computed_with() -> None:
    """torchvision asks for it before it resizes bytes as they are."""
    capability = retrograd.backends.cpu.get_cpu_capability()
    assert capability in ("AVX512", "AVX2", "DEFAULT")
