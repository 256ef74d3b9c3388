"""Linear algebra: norms, products, decompositions, solvers.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Sequence
from retrograd import return_types
from retrograd.dtypes import dtype
from retrograd.ops.linalg.matrices import _LinAlgError
from retrograd.tensor import Tensor
from typing import Any

LinAlgError = _LinAlgError
def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor: ...
def cholesky_ex(
    A: Tensor,
    *,
    upper: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_cholesky_ex: ...
def cond(
    A: Tensor,
    p: float | Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def cross(
    input: Tensor,
    other: Tensor,
    *,
    dim: int = -1,
    out: Tensor | None = None,
) -> Tensor: ...
def det(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
def eig(A: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.linalg_eig: ...
def eigh(
    A: Tensor,
    UPLO: str = 'L',
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_eigh: ...
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def eigvalsh(A: Tensor, UPLO: str = 'L', *, out: Tensor | None = None) -> Tensor: ...
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def inv_ex(
    A: Tensor,
    *,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_inv_ex: ...
def ldl_factor(
    A: Tensor,
    *,
    hermitian: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_ldl_factor: ...
def ldl_factor_ex(
    A: Tensor,
    *,
    hermitian: bool = False,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_ldl_factor_ex: ...
def ldl_solve(
    LD: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    hermitian: bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def lstsq(
    A: Tensor,
    B: Tensor,
    rcond: float | None = None,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lstsq: ...
def lu(
    A: Tensor,
    *,
    pivot: bool = True,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu: ...
def lu_factor(
    A: Tensor,
    *,
    pivot: bool = True,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu_factor: ...
def lu_factor_ex(
    A: Tensor,
    *,
    pivot: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_lu_factor_ex: ...
def lu_solve(
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
def matrix_exp(A: Tensor) -> Tensor: ...
def matrix_norm(
    A: Tensor,
    ord: float | str | None = 'fro',
    dim: int | Sequence[int] | None = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor: ...
def matrix_rank(
    A: Tensor,
    tol: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor: ...
def norm(
    A: Tensor,
    ord: float | str | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
) -> Tensor: ...
def pinv(
    A: Tensor,
    rcond: Tensor | float | None = None,
    hermitian: bool = False,
    *,
    atol: Tensor | float | None = None,
    rtol: Tensor | float | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
def qr(
    A: Tensor,
    mode: str = 'reduced',
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_qr: ...
def slogdet(
    A: Tensor,
    *,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_slogdet: ...
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor: ...
def solve_ex(
    A: Tensor,
    B: Tensor,
    *,
    left: bool = True,
    check_errors: bool = False,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_solve_ex: ...
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor: ...
def svd(
    A: Tensor,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
    out: Sequence[Tensor] | None = None,
) -> return_types.linalg_svd: ...
def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor: ...
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor: ...
def tensorsolve(
    A: Tensor,
    B: Tensor,
    dims: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def vander(x: Tensor, *, N: int | None = None) -> Tensor: ...
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor: ...
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Tensor | None = None,
) -> Tensor: ...
