"""Maximum pooling over two dimensions: a launch, and nobody looks for NaN from the host."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first, source, wide_dtype
from retrograd.backend.device import Backend
from retrograd.backend.neutral.pooling import pooled_size

_I64 = np.dtype(np.int64)
_MOST = 2**30  # places along a dimension are counted in 32 bits


class Pooling:
    """The kernels for one device's arrays."""

    def __init__(self, backend: Backend) -> None:
        self.array: Any = backend.array
        self.xp = backend.xp

    def _takes(self, array: Any) -> bool:
        return type(array) is self.array and array.dtype.name in WIDE and array.ndim >= 2

    def largest(
        self,
        input: Any,
        kernel: Sequence[int],
        stride: Sequence[int],
        padding: Sequence[int],
        dilation: Sequence[int],
        ceil_mode: bool,
    ) -> Any:
        """The largest of each window, and where it is."""
        if not self._takes(input) or not input._c_contiguous or not input.size:
            return None
        windows = []
        for each in zip(input.shape[-2:], kernel, stride, padding, dilation, strict=True):
            size, length, step, pad, gap = each
            count = pooled_size(*each, ceil_mode)
            # a window that lies in the padding alone is the neutral kernel's
            if count < 1 or (pad and (gap > 1 or pad >= length)) or size + length * gap > _MOST:
                return None
            if (count - 1) * step - pad >= size:
                return None
            windows.append((size, count, length, step, pad, gap))
        shape = (*input.shape[:-2], windows[0][1], windows[1][1])
        out: Any = self.array(shape, input.dtype)
        places: Any = self.array(shape, _I64)
        given = (input.data.ptr, out.data.ptr, places.data.ptr, out.size)
        packed = [struct.pack("6q", *window) for window in windows]
        function = source("pooling", input.dtype).max_pool
        launch.launch(function, launch.blocks_for(out.size), (*given, *packed))
        return out, places

    def gradient(self, g: Any, input: Any, places: Any) -> Any:
        """The gradient of the input."""
        if not self._takes(g) or not g.size or not places._c_contiguous:
            return None
        if places.dtype != _I64 or g.shape != places.shape or input.dtype != g.dtype:
            return None
        if not g._c_contiguous:
            g = self.xp.ascontiguousarray(g)
        height, width = input.shape[-2:]
        found: Any = self.xp.zeros(input.shape, wide_dtype(g.dtype))
        many = g.shape[-2] * g.shape[-1]
        given = (g.data.ptr, places.data.ptr, found.data.ptr, g.size, many, height * width)
        function = source("pooling", g.dtype).add_places
        launch.launch(function, launch.blocks_for(g.size), given)
        return found if found.dtype == g.dtype else found.astype(g.dtype)


def install(backend: Backend) -> None:
    """Register them."""
    pooling = Pooling(backend)
    own_first(backend, "max_pool2d_with_indices", pooling.largest, halves=True)
    own_first(backend, "_max_pool2d_gradient", pooling.gradient, halves=True)
