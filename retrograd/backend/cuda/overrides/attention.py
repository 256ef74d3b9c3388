"""Attention without a matrix of scores: a launch forward, three backward.

Results lie as PyTorch's do: (batch, length, heads, width) in memory, so that heads are put together
again without a copy. Operands may lie in any way whose last dimension has no gaps.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import numpy as np

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.launch import Source
from retrograd.backend.cuda.overrides.kinds import own_first
from retrograd.backend.cuda.written import C_TYPES, HALVES
from retrograd.backend.device import Backend

_F32 = np.dtype(np.float32)
_SIDE = 64  # rows of a tile
_WIDTHS = (32, 64, 128)  # for which there are kernels: of the most that a head may be wide
_MOST_ROWS = 2**30  # of a head: places in it are counted in 32 bits
_TAKEN = ("float32", *HALVES)

Steps = tuple[int, int, int]


@cache
def _source(real: str, mask: str, most: int) -> Source:
    return Source("attention", REAL=C_TYPES[real], MASK=C_TYPES[mask], MOST=str(most))


class Attention:
    """The kernels on one device."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.array: Any = backend.array
        self.xp = backend.xp

    def _takes(self, mask: Any, *operands: Any) -> bool:
        """Whether operands are of one type and fit each other."""
        query, key, value, *others = operands
        if any([type(x) is not self.array or x.dtype != query.dtype for x in operands]):
            return False
        if query.dtype.name not in _TAKEN or query.ndim != 4 or key.shape != value.shape:
            return False
        batch, heads, rows, width = query.shape
        if key.ndim != 4 or key.shape[:2] != (batch, heads) or key.shape[3] != width:
            return False
        if any([x.shape != query.shape for x in others]):
            return False
        if not query.size or not key.size or width > _WIDTHS[-1]:
            return False
        longest = max(rows, key.shape[2])
        if longest > _MOST_ROWS or batch * heads * -(-longest // _SIDE) >= 2**31:
            return False
        if mask is None:
            return True
        if type(mask) is not self.array or mask.dtype.name not in ("bool", query.dtype.name):
            return False
        whole = (batch, heads, rows, key.shape[2])
        lacks = 4 - mask.ndim
        return lacks >= 0 and all(
            [have in (1, want) for have, want in zip(mask.shape, whole[lacks:], strict=True)]
        )

    def _lying(self, array: Any) -> Any:
        """An array whose last dimension has no gaps, and whose steps are whole elements."""
        unit = array.itemsize
        fits = array.shape[3] == 1 or array.strides[3] == unit
        if fits and not any([step % unit for step in array.strides]):
            return array
        return self.xp.ascontiguousarray(array)

    def _new(self, like: Any) -> Any:
        """Memory for a result: heads lie inside of places."""
        batch, heads, rows, width = like.shape
        made: Any = self.array((batch, rows, heads, width), like.dtype)
        return made.transpose((0, 2, 1, 3))

    def _functions(self, query: Any, mask: Any) -> Source:
        most = next(m for m in _WIDTHS if query.shape[3] <= m)
        return _source(query.dtype.name, "bool" if mask is None else mask.dtype.name, most)

    def run(
        self, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
    ) -> Any:
        """The op `_efficient_attention`: the result, and the logarithm of each query's sum."""
        if not self._takes(mask, query, key, value):
            return None
        query, key, value = map(self._lying, (query, key, value))
        out = self._new(query)
        batch, heads, rows, _ = query.shape
        totals: Any = self.array((batch, heads, rows), _F32)
        problem = _problem(query, key, value, out, out, mask, is_causal)
        pointers = _addresses(query, key, value, mask, out, totals)
        function = self._functions(query, mask).attention
        blocks = batch * heads * -(-rows // _SIDE)
        launch.launch(function, blocks, (*pointers, float(scale), problem))
        return out, totals

    def gradients(
        self,
        g: Any,
        needs: tuple[bool, ...],
        query: Any,
        key: Any,
        value: Any,
        mask: Any,
        is_causal: bool,
        scale: float,
        out: Any,
        totals: Any,
    ) -> Any:
        """Those of query, key and value; the logarithms have none."""
        given = g[0]
        if g[1] is not None or not self._takes(mask, query, key, value, given, out):
            return None
        query, key, value, given, out = map(self._lying, (query, key, value, given, out))
        functions = self._functions(query, mask)
        batch, heads, rows, _ = query.shape
        columns = key.shape[2]
        shares: Any = self.array((batch, heads, rows), _F32)
        count = batch * heads * rows
        problem = _problem(query, key, value, out, given, mask, is_causal)
        pointers = (*_addresses(out, given, shares), count, problem)
        launch.launch(functions.attention_shares, launch.blocks_for(count, 8), pointers)
        before = _addresses(query, key, value, mask, given, totals, shares)
        of_query = of_key = of_value = None
        if needs[0]:
            of_query = self._new(query)
            problem = _problem(query, key, value, of_query, given, mask, is_causal)
            blocks = batch * heads * -(-rows // _SIDE)
            arguments = (*before, of_query.data.ptr, float(scale), problem)
            launch.launch(functions.attention_of_query, blocks, arguments)
        if needs[1] or needs[2]:
            of_key, of_value = self._new(key), self._new(value)
            blocks = batch * heads * -(-columns // _SIDE)
            lines = struct.pack("3q", *_steps(of_key))
            arguments = (*before, *_addresses(of_key, of_value), float(scale), problem, lines)
            launch.launch(functions.attention_of_key, blocks, arguments)
        return of_query, of_key if needs[1] else None, of_value if needs[2] else None


def _steps(array: Any) -> Steps:
    batch, head, row, _ = [step // array.itemsize for step in array.strides]
    return batch, head, row


def _addresses(*arrays: Any) -> tuple[int, ...]:
    return tuple([0 if array is None else array.data.ptr for array in arrays])


def _problem(
    query: Any, key: Any, value: Any, out: Any, given: Any, mask: Any, is_causal: bool
) -> bytes:
    """The structure `Problem` of the kernels."""
    _, heads, rows, width = query.shape
    over: tuple[int, ...] = (0, 0, 0, 0)
    if mask is not None:
        own = [
            0 if size == 1 else step // mask.itemsize
            for size, step in zip(mask.shape, mask.strides, strict=True)
        ]
        over = (*[0] * (4 - mask.ndim), *own)
    steps = [step for array in (query, key, value, out, given) for step in _steps(array)]
    numbers = (heads, rows, key.shape[2], width, *steps, *over, int(is_causal))
    return struct.pack(f"{len(numbers)}q", *numbers)


def install(backend: Backend) -> None:
    """Register them: `scaled_dot_product_attention` looks whether the op has a kernel here."""
    attention = Attention(backend)
    own_first(backend, "_efficient_attention", attention.run, halves=True)
    own_first(backend, "_efficient_attention_gradients", attention.gradients, halves=True)
