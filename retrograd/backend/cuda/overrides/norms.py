"""Normalization of layers, batches and groups of channels, with gradients of the first two."""

from __future__ import annotations

import math
from typing import Any

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first, source, wide_dtype
from retrograd.backend.cuda.overrides.reductions import Reduction
from retrograd.backend.device import Backend


def _threads(count: int) -> int:
    return next((n for n in (32, 64, 128, 256, 512) if count <= 4 * n), 1024)


class Norms:
    """The kernels for one device's arrays."""

    def __init__(self, backend: Backend) -> None:
        self.array: Any = backend.array
        self.total = Reduction(backend, "Add")

    def _takes(self, input: Any, weight: Any, *beside: Any) -> bool:
        """Whether kernels take an input, weight and what lies beside the weight.

        Weights of an input in half precision may be in float32, as they are under autocast.
        """
        if type(input) is not self.array or input.dtype.name not in WIDE or not input.size:
            return False
        given = [a for a in (weight, *beside) if a is not None]
        kinds = {a.dtype for a in given}
        if len(kinds) > 1 or not kinds <= {input.dtype, wide_dtype(input.dtype)}:
            return False
        return all([type(a) is self.array and a._c_contiguous for a in (input, *given)])

    @staticmethod
    def _view(layout: Any) -> tuple[int, ...]:
        """What kernels take: the groups, and how channels follow each other."""
        places, channels = (1, layout.scaled[1])
        if len(layout.scaled) == 3:
            channels, places = layout.scaled[1:]
        return (*layout.grouped, places, channels)

    def normalized(self, input: Any, weight: Any, bias: Any, layout: Any, eps: float) -> Any:
        """The function and its statistics: mean, one over the deviation, variance."""
        if not self._takes(input, weight, bias):
            return None
        before, groups, after = layout.grouped
        view = self._view(layout)
        kernels = source("norms", input.dtype, _type_of(weight, bias))
        result: Any = self.array(input.shape, input.dtype)
        wide = wide_dtype(input.dtype)
        found: list[Any] = [self.array((1, groups, 1), wide) for _ in range(3)]
        statistics = [f.data.ptr for f in found]
        given = [input.data.ptr, *[0 if x is None else x.data.ptr for x in (weight, bias)]]
        whole = before == 1
        blocks, threads = min(groups, 1 << 20), _threads(before * after)
        target = result.data.ptr if whole else 0
        launch.launch(
            kernels.normalized, blocks, (*given, target, *statistics, float(eps), *view), threads
        )
        if not whole:
            more = (*given, result.data.ptr, *statistics[:2], *view)
            launch.launch(kernels.scaled, launch.blocks_for(input.size), more)
        return result, *found

    def gradients(
        self,
        g: Any,
        needs: tuple[bool, ...],
        input: Any,
        weight: Any,
        bias_shape: Any,
        mean: Any,
        inverse: Any,
        layout: Any,
        name: str,
    ) -> Any:
        """Those of input, weight and bias."""
        wide = wide_dtype(input.dtype)
        if not self._takes(input, weight) or g.dtype != input.dtype:
            return None
        if any([s.dtype != wide or not s._c_contiguous for s in (mean, inverse)]):
            return None
        if not g._c_contiguous:
            g = g.copy()
            if not g._c_contiguous:
                return None
        by_rows = len(layout.scaled) == 2 and layout.grouped[0] == 1
        by_channels = layout.grouped == layout.scaled
        if not by_rows and not by_channels:
            return None
        kernels = source("norms", input.dtype, _type_of(weight))
        view = self._view(layout)
        groups = layout.grouped[1]
        count = layout.grouped[0] * layout.grouped[2]
        scale = 0 if weight is None else weight.data.ptr
        given = (g.data.ptr, input.data.ptr)
        statistics = (mean.data.ptr, inverse.data.ptr)
        of_input: Any = self.array(input.shape, input.dtype) if needs[0] else None
        target = 0 if of_input is None else of_input.data.ptr
        blocks, threads = min(groups, 1 << 20), _threads(count)
        if by_rows:
            if of_input is not None:
                launch.launch(
                    kernels.slopes,
                    blocks,
                    (*given, scale, *statistics, target, 0, 0, *view),
                    threads,
                )
            parts = (g, input, mean, inverse)
            sums: Any = self._columns(*parts, layout.scaled) if any(needs[1:]) else (None, None)
        else:
            # of all of a group, whose elements share one weight
            sums = [self.array((groups,), wide) for _ in range(2)]
            pointers = tuple([s.data.ptr for s in sums])
            launch.launch(
                kernels.slopes, blocks, (*given, 0, *statistics, 0, *pointers, *view), threads
            )
            if of_input is not None:
                numbers = (*given, scale, *statistics, target, *pointers, *view)
                launch.launch(kernels.slopes_from_sums, launch.blocks_for(input.size), numbers)
        of_bias, of_weight = sums
        return (
            of_input,
            of_weight.reshape(weight.shape) if needs[1] else None,
            of_bias.reshape(bias_shape) if needs[2] else None,
        )

    def _columns(self, g: Any, input: Any, mean: Any, inverse: Any, scaled: Any) -> list[Any]:
        """Sums of g, and of g times the normalized input, for each column."""
        rows, columns = scaled
        tiles = -(-columns // 32)
        shares = max(1, min(64, rows // 64, 1056 // tiles))
        wide = wide_dtype(input.dtype)
        parts: list[Any] = [self.array((shares, columns), wide) for _ in range(2)]
        pointers = [x.data.ptr for x in (g, input, mean, inverse, *parts)]
        function = source("norms", input.dtype).column_sums
        launch.launch(function, min(tiles * shares, 1 << 20), (*pointers, rows, columns, shares))
        return [p.reshape(columns) if shares == 1 else self.total(p, 0) for p in parts]


def _type_of(*scales: Any) -> Any:
    """The type of weight and bias, if there is one of them."""
    return next((scale.dtype for scale in scales if scale is not None), None)


def install(backend: Backend) -> None:
    """Register them."""
    norms = Norms(backend)

    def first(count: int) -> Any:
        def run(*arguments: Any) -> Any:
            found = norms.normalized(*arguments)
            return None if found is None else found[:count]

        return run

    def batch(
        input: Any,
        weight: Any,
        bias: Any,
        running_mean: Any,
        running_var: Any,
        training: bool,
        layout: Any,
        eps: float,
    ) -> Any:
        if not training or math.prod(layout.grouped) != input.size:
            return None
        return norms.normalized(input, weight, bias, layout, eps)

    own_first(backend, "_layer_norm", first(3), halves=True)
    own_first(backend, "_group_norm", first(3), halves=True)
    own_first(backend, "_batch_norm", batch, halves=True)
    own_first(backend, "_norm_gradients", norms.gradients, halves=True)
