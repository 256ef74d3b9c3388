"""cuBLAS in a process without it: computes in NumPy what it is asked, at the addresses given."""

from __future__ import annotations

import ctypes

import ml_dtypes
import numpy as np

from retrograd.backend.cuda.blas import _TYPES

NAMES = {number: name for name, (number, *_rest) in _TYPES.items()}


def at(pointer, name, shape, strides):
    """Memory as cuBLAS is told that it lies."""
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    size = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    memory = (ctypes.c_char * (size * dtype.itemsize)).from_address(pointer)
    flat = np.frombuffer(memory, dtype)
    return np.lib.stride_tricks.as_strided(flat, shape, [s * dtype.itemsize for s in strides])


class Products:
    """The library: matrices lie by columns.

    told  called with each product's name and how many elements it has
    run   whether products are computed
    """

    def __init__(self, told=None, run=True):
        self.told, self.run = told, run

    def _tell(self, name, size):
        if self.told is not None:
            self.told(name, size)

    def cublasGemmEx(self, handle, a_way, b_way, m, n, k, one, *rest):
        a, a_type, lda, b, b_type, ldb, kept, c, c_type, ldc, _compute, _algo = rest
        self._tell("matmul", m * n)
        matrices = (a, a_type, lda), (b, b_type, ldb), (c, c_type, ldc)
        self._one(a_way, b_way, m, n, k, *matrices, one[0], kept[0])
        return 0

    def cublasGemmStridedBatchedEx(self, handle, a_way, b_way, m, n, k, one, *rest):
        a, at_, lda, sa, b, bt, ldb, sb, kept, c, ct, ldc, sc, count, _compute, _algo = rest
        self._tell("matmul of a batch", m * n * count)
        for i in range(count):
            moved = [(p + i * s * at(p, NAMES[t], (1,), (1,)).itemsize, t, ld) for p, s, t, ld in (
                (a, sa, at_, lda), (b, sb, bt, ldb), (c, sc, ct, ldc))]  # fmt: skip
            self._one(a_way, b_way, m, n, k, *moved, one[0], kept[0])
        return 0

    def _one(self, a_way, b_way, m, n, k, a, b, c, scale, kept):
        """``c = scale * a @ b + kept * c``; each matrix is an address, a type and its lines."""
        if not self.run:
            return
        assert a[2] >= (k if a_way else m) and b[2] >= (n if b_way else k) and c[2] >= m
        first = at(a[0], NAMES[a[1]], *(((k, m) if a_way else (m, k)), (1, a[2])))
        second = at(b[0], NAMES[b[1]], *(((n, k) if b_way else (k, n)), (1, b[2])))
        first, second = (x.T if way else x for x, way in ((first, a_way), (second, b_way)))
        wide = complex if first.dtype.kind == "c" else float
        out = at(c[0], NAMES[c[1]], (m, n), (1, c[2]))
        found = scale * (first.astype(wide) @ second.astype(wide))
        if kept:
            found += kept * out.astype(wide)
        out[...] = found.astype(out.dtype)
