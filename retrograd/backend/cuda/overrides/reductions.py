"""Sums, means and extremes over any dimensions: one launch, or two where blocks share the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.launch import Source
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first
from retrograd.backend.cuda.written import C_TYPES, HALVES
from retrograd.backend.device import Backend

_I64 = np.dtype(np.int64)
_NOTHING = {"Add": "0", "Largest": "-INFINITE", "Smallest": "INFINITE"}
_WANTED_BLOCKS = 132 * 8
_DIMS = 3


class Plan(NamedTuple):
    """How an array is reduced.

    shape    of the result
    parts    how many blocks share one result's elements
    ways     for each launch the function, blocks and the numbers that it is given
    """

    shape: tuple[int, ...]
    kept: DType
    wide: DType
    outputs: int
    shares: int
    first: tuple[Any, int, tuple[Any, ...]]
    second: tuple[Any, int, tuple[Any, ...]] | None


@cache
def _source(do: str, real: str, wide: str, kept: str) -> Source:
    return Source("reductions", DO=do, REAL=real, WIDE=wide, KEPT=kept, NOTHING=_NOTHING[do])


def axes_of(dim: Any, ndim: int) -> tuple[int, ...] | None:
    """Dimensions counted from the front, all for None and (); None where they are wrong."""
    if dim is None:
        return tuple(range(ndim))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    if not dims:
        return tuple(range(ndim))
    found = tuple([d + ndim if d < 0 else d for d in dims])
    if len(set(found)) != len(found) or any([not 0 <= d < ndim for d in found]):
        return None
    return found


def _joined(sizes: Sequence[int], steps: Sequence[int]) -> tuple[list[int], list[int]] | None:
    """Neighbours as one, outermost first, padded in front to three; None if there are more."""
    kept: list[int] = []
    moves: list[int] = []
    for size, step in zip(sizes, steps, strict=True):
        if size == 1:
            continue
        if kept and moves[-1] == step * size:
            kept[-1] *= size
            moves[-1] = step
        else:
            kept.append(size)
            moves.append(step)
    missing = _DIMS - len(kept)
    return None if missing < 0 else ([1] * missing + kept, [0] * missing + moves)


def planned(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: DType,
    axes: tuple[int, ...],
    keepdims: bool,
    do: str,
    mean: bool,
) -> Plan | None:
    """How to reduce an array over axes; None where the neutral way must."""
    size = dtype.itemsize
    if any([step % size for step in strides]) or 0 in shape:
        return None
    wide_name = WIDE.get(dtype.name)
    kept_dtype = dtype
    if wide_name is None:
        if dtype.kind not in "iub" or do != "Add" or mean or dtype.name not in C_TYPES:
            return None
        wide_name, kept_dtype = "long long", _I64
    steps = [step // size for step in strides]
    stay = [axis for axis in range(len(shape)) if axis not in axes]
    go = sorted(axes, key=lambda axis: -abs(steps[axis]))
    kept = _joined([shape[a] for a in stay], [steps[a] for a in stay])
    reduced = _joined([shape[a] for a in go], [steps[a] for a in go])
    if kept is None or reduced is None:
        return None
    outputs, count = math.prod(kept[0]), math.prod(reduced[0])
    result = tuple([1 if axis in axes else shape[axis] for axis in range(len(shape))])
    if not keepdims:
        result = tuple([shape[axis] for axis in stay])
    scale = 1.0 / count if mean else 1.0
    places = _places(*kept, *reduced)
    source = _source(do, C_TYPES[dtype.name], wide_name, C_TYPES[kept_dtype.name])
    along = outputs == 1 or (count > 1 and abs(reduced[1][2]) <= abs(kept[1][2]))
    shares = 1
    if along:
        if count >= 8192 and outputs < _WANTED_BLOCKS // 2:
            shares = max(1, min(-(-_WANTED_BLOCKS // outputs), count // 4096))
        function = source.along_by_warp if count < 1024 else source.along_by_block
        blocks = launch.blocks_for(outputs, 8) if count < 1024 else outputs * shares
    else:
        tiles = -(-kept[0][2] // 32) * (outputs // kept[0][2])
        if tiles < _WANTED_BLOCKS // 2:
            shares = max(1, min(-(-_WANTED_BLOCKS // tiles), count // 64))
        function, blocks = source.across, tiles * shares
    blocks = min(blocks, 1 << 20)
    first = (function, blocks, (outputs, count, shares, scale, *places))
    wide = np.dtype({"float": "f4", "double": "f8", "long long": "i8"}[wide_name])
    second = None
    if shares > 1:
        parts = _source(do, wide_name, wide_name, C_TYPES[kept_dtype.name])
        numbers = (
            outputs,
            shares,
            1,
            scale,
            *_places([1, 1, outputs], [0, 0, 1], [1, 1, shares], [0, 0, outputs]),
        )
        if outputs == 1:
            second = (parts.along_by_block, 1, numbers)
        else:
            second = (parts.across, min(-(-outputs // 32), 1 << 20), numbers)
    return Plan(result, kept_dtype, wide, outputs, shares, first, second)


def _places(
    kept: Sequence[int], kept_steps: Sequence[int], sizes: Sequence[int], steps: Sequence[int]
) -> tuple[int, ...]:
    """What the kernels take of these, from the innermost dimension outwards."""
    return (
        *(kept[2], kept[1], kept_steps[2], kept_steps[1], kept_steps[0]),
        *(sizes[2], sizes[1], steps[2], steps[1], steps[0]),
    )


class Reduction:
    """Reduces arrays of one backend."""

    def __init__(self, backend: Backend, do: str, mean: bool = False) -> None:
        self.array: Any = backend.array
        self.do = do
        self.mean = mean
        self.plans: dict[Any, Plan | None] = {}

    def __call__(self, array: Any, dim: Any = None, keepdims: bool = False) -> Any:
        """The result, or None where the neutral kernel must."""
        if type(array) is not self.array:
            return None
        shape, strides, dtype = array.shape, array.strides, array.dtype
        key = (shape, strides, dtype, tuple(dim) if isinstance(dim, list) else dim, keepdims)
        try:
            plan = self.plans[key]
        except KeyError:
            axes = axes_of(dim, len(shape))
            plan = None
            if axes is not None and keepdims in (True, False):
                plan = planned(shape, strides, dtype, axes, bool(keepdims), self.do, self.mean)
            if len(self.plans) > 1 << 14:
                self.plans.clear()
            self.plans[key] = plan
        if plan is None:
            return None
        result: Any = self.array(plan.shape, plan.kept)
        function, blocks, numbers = plan.first
        if plan.second is None:
            launch.launch(function, blocks, (array.data.ptr, result.data.ptr, *numbers))
            return result
        parts: Any = self.array((plan.shares, plan.outputs), plan.wide)
        launch.launch(function, blocks, (array.data.ptr, parts.data.ptr, *numbers))
        function, blocks, numbers = plan.second
        launch.launch(function, blocks, (parts.data.ptr, result.data.ptr, *numbers))
        return result


def install(backend: Backend) -> None:
    """Let the ops and the functions of `xp` that sum up use these."""
    total, average = Reduction(backend, "Add"), Reduction(backend, "Add", mean=True)
    largest, smallest = Reduction(backend, "Largest"), Reduction(backend, "Smallest")

    def whole(reduction: Reduction) -> Any:
        def run(input: Any, dtype: Any = None) -> Any:
            return None if dtype is not None else reduction(input)

        return run

    def along(reduction: Reduction) -> Any:
        def run(input: Any, dim: Any = None, keepdim: Any = False, *, dtype: Any = None) -> Any:
            return None if dtype is not None else reduction(input, dim, keepdim)

        return run

    own_first(backend, "_sum_all", whole(total), halves=True)
    own_first(backend, "sum", along(total), halves=True)
    own_first(backend, "_mean_all", whole(average), halves=True)
    own_first(backend, "mean", along(average), halves=True)
    xp = backend.xp

    def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
        """The sum to a shape that broadcasts to the array's."""
        lead = x.ndim - len(shape)
        ones = [lead + d for d, n in enumerate(shape) if n == 1 and x.shape[lead + d] != 1]
        axes = (*range(lead), *ones)
        found = total(x, axes, bool(ones)) if axes else x.copy()
        # not reshaped where it need not be: the engine writes into arrays, not into views of them
        return found if found is None or found.shape == shape else found.reshape(shape)

    def sum_all(x: Any) -> Any:
        found = total(x) if x.dtype.kind not in "iub" else None
        return xp.asarray(xp.sum(x)) if found is None else found

    backend.sums_halves = True
    xp.__dict__.update(sum_to=sum_to, sum_all=sum_all)
    for name, reduction in (("sum", total), ("max", largest), ("min", smallest), ("mean", average)):
        xp.__dict__[name] = _function(getattr(xp, name), reduction)


def _function(library: Any, reduction: Reduction) -> Any:
    """A function of the array library by our kernel, where that takes the call."""

    def run(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False,
        **options: Any,
    ) -> Any:  # fmt: skip
        if dtype is not None and a.dtype.name in HALVES:
            a, dtype = a.astype(dtype), None
        if dtype is None and out is None and not options and a.dtype.kind not in "iub":
            if axis != ():
                found = reduction(a, axis, keepdims)
                if found is not None:
                    return found
        given = {"dtype": dtype} if dtype is not None else {}
        return library(a, axis=axis, out=out, keepdims=keepdims, **given, **options)

    return run
