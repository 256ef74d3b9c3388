"""Products of matrices: cuBLAS, called so that a stream may be captured, by PyTorch's switches."""

from __future__ import annotations

from typing import Any

from retrograd.backend.cuda import blas
from retrograd.backend.cuda.overrides.kinds import own_first
from retrograd.backend.cuda.written import HALVES


def install(backend: Any) -> None:
    """Let kernels call it as `xp.matmul` and its relatives."""
    backend.blas, functions = blas.functions(backend.cupy)
    backend.xp.__dict__.update(functions)
    product = functions["matmul"]

    def matmul(a: Any, b: Any, out: Any = None) -> Any:
        found = product(a, b)
        if out is None:
            return found
        out[...] = found
        return out

    backend.xp.__dict__["matmul"] = matmul

    def addmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
        if beta != 1 or alpha != 1 or mat1.ndim != 2 or mat2.ndim != 2:
            return None
        if mat1.shape[1] != mat2.shape[0] or input.dtype != mat1.dtype:
            return None
        shape = (mat1.shape[0], mat2.shape[1])
        if input.ndim > 2 or any([
            n not in (1, m) for n, m in zip(input.shape[::-1], shape[::-1], strict=False)
        ]):  # fmt: skip
            return None
        if input.dtype.name in HALVES:
            found = backend.array(shape, input.dtype)
            found[...] = input
            if backend.blas.add_product(found, mat1, mat2):  # rounds once, as PyTorch's does
                return found
        return backend.raw.add(backend.xp.matmul2d(mat1, mat2), input)

    # cuBLAS computes in float32 inside; what is left to the neutral kernel is widened first
    own_first(backend, "addmm", addmm, halves=True)
    backend.halves.update(("mm", "bmm"))
    backend.half_rules.update(("mm", "bmm"))
