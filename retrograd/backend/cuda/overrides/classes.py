"""Losses by class and embeddings, without a look at classes and indices from the host."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.faults import Faults
from retrograd.backend.cuda.launch import Source
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first, wide_dtype
from retrograd.backend.cuda.written import C_TYPES
from retrograd.backend.device import Backend

_INDEX = ("int64", "int32", "uint8")


@cache
def _source(real: str, index: str) -> Source:
    return Source("classes", REAL=C_TYPES[real], WIDE=WIDE[real], INDEX=C_TYPES[index])


class Classes:
    """The kernels for one device's arrays."""

    def __init__(self, backend: Backend, faults: Faults) -> None:
        self.array: Any = backend.array
        self.xp = backend.xp
        self.faults = faults

    def _kernels(self, real: Any, index: Any, *others: Any) -> Source | None:
        """The functions for arrays of these types; None where an array is of another."""
        if type(real) is not self.array or type(index) is not self.array or not real.size:
            return None
        if real.dtype.name not in WIDE or index.dtype.name not in _INDEX or not index.size:
            return None
        if any([o is not None and (o.dtype != real.dtype or not o._c_contiguous) for o in others]):
            return None
        return _source(real.dtype.name, index.dtype.name)

    def _rows(self, array: Any) -> Any:
        return array if array._c_contiguous else self.xp.ascontiguousarray(array)

    def loss(self, input: Any, target: Any, weight: Any, reduction: int, ignored: int) -> Any:
        """The negative log-likelihood; a class that is outside gives NaN and is noted."""
        kernels = self._kernels(input, target, weight)
        if kernels is None or reduction not in (0, 1, 2):
            return None
        classes = input.shape[min(input.ndim - 1, 1)]
        places = math.prod(input.shape[2:])
        input, target = self._rows(input), self._rows(target)
        shape = () if reduction else target.shape if input.ndim > 1 else ()
        result: Any = self.array(shape, input.dtype)
        pointers = [a.data.ptr for a in (input, target)]
        pointers += [0 if weight is None else weight.data.ptr, result.data.ptr]
        numbers = (target.size, classes, places, ignored, reduction, self.faults.address)
        blocks = 1 if reduction else launch.blocks_for(target.size)
        threads = 1024 if reduction and target.size > 256 else 256
        launch.launch(kernels.nll, blocks, (*pointers, *numbers), threads)
        return result

    def slopes(
        self, g: Any, input: Any, target: Any, weight: Any, reduction: int, ignored: int
    ) -> Any:
        """The gradient of the scores."""
        kernels = self._kernels(g, target, weight)
        if kernels is None or reduction not in (0, 1, 2) or not input.size:
            return None
        classes = input.shape[min(input.ndim - 1, 1)]
        places = math.prod(input.shape[2:])
        g, target = self._rows(g), self._rows(target)
        scale = 0 if weight is None else weight.data.ptr
        total: Any = self.array((), wide_dtype(g.dtype))
        if reduction == 1:
            given = (target.data.ptr, scale, total.data.ptr, target.size, classes, ignored)
            launch.launch(kernels.nll_total, 1, given, 1024 if target.size > 256 else 256)
        result: Any = self.array(input.shape, g.dtype)
        pointers = (g.data.ptr, target.data.ptr, scale, total.data.ptr, result.data.ptr)
        numbers = (result.size, classes, places, ignored, reduction)
        launch.launch(kernels.nll_slopes, launch.blocks_for(result.size), (*pointers, *numbers))
        return result

    def rows(self, table: Any, index: Any, *_: Any) -> Any:
        """The rows of a table."""
        kernels = self._kernels(table, index)
        if kernels is None or table.ndim != 2:
            return None
        table, index = self._rows(table), self._rows(index)
        columns = table.shape[1]
        result: Any = self.array((*index.shape, columns), table.dtype)
        pointers = (table.data.ptr, index.data.ptr, result.data.ptr)
        numbers = (result.size, columns, table.shape[0], self.faults.address)
        launch.launch(kernels.take_rows, launch.blocks_for(result.size), (*pointers, *numbers))
        return result

    def added(self, g: Any, index: Any, count: int, padding: int, by_frequency: bool) -> Any:
        """The gradient of the table; parts of a row are added in no certain order.

        In half precision too they are added in float32, and rounded once.
        """
        kernels = self._kernels(g, index)
        if kernels is None or by_frequency or g.ndim != index.ndim + 1:
            return None
        g, index = self._rows(g), self._rows(index)
        columns = g.shape[-1]
        result: Any = self.xp.zeros((count, columns), wide_dtype(g.dtype))
        pointers = (g.data.ptr, index.data.ptr, result.data.ptr)
        numbers = (g.size, columns, count, padding)
        launch.launch(kernels.add_rows, launch.blocks_for(g.size), (*pointers, *numbers))
        return result if result.dtype == g.dtype else result.astype(g.dtype)


def install(backend: Backend) -> None:
    """Register them; transfers to the host raise what kernels noted."""
    faults = Faults(backend.xp._library)
    classes = Classes(backend, faults)
    backend.faults.append(faults.check)
    for name in ("_nll_loss", "_nll_loss2d"):
        own_first(backend, name, classes.loss, halves=True)
        own_first(backend, f"{name}_gradient", classes.slopes, halves=True)
    own_first(backend, "embedding", classes.rows, halves=True)
    own_first(backend, "_embedding_gradient", classes.added, halves=True)
