"""Gaussian elimination on arrays: LU with partial pivoting, and substitution."""

from __future__ import annotations

from math import prod

from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.matrices import I32, batch_shape


def lu_decompose(xp: Namespace, matrix: Array) -> tuple[Array, Array]:
    """LU with partial pivoting of a batch: L and U in one array, and LAPACK's pivots (from 1)."""
    *lead, rows, columns = matrix.shape
    work = xp.array(matrix, order="C").reshape((prod(lead), rows, columns))
    steps = min(rows, columns)
    pivots = xp.empty((work.shape[0], steps), I32)
    batch = xp.arange(work.shape[0])
    is_complex = matrix.dtype.kind == "c"
    for j in range(steps):
        below = work[:, j:, j]
        # LAPACK measures a complex pivot by the sum of its two parts
        size = xp.abs(below.real) + xp.abs(below.imag) if is_complex else xp.abs(below)
        chosen = xp.argmax(size, axis=1) + j
        pivots[:, j] = chosen + 1
        moved = work[batch, chosen]
        work[batch, chosen] = work[:, j]
        work[:, j] = moved
        pivot = work[:, j, j]
        # below a zero pivot the column is zero anyway
        work[:, j + 1 :, j] /= xp.where(pivot == 0, 1, pivot)[:, None]
        work[:, j + 1 :, j + 1 :] -= work[:, j + 1 :, j, None] * work[:, None, j, j + 1 :]
    return work.reshape(matrix.shape), pivots.reshape((*lead, steps))


def lu_info(xp: Namespace, factors: Array) -> Array:
    """For each LU the number (from 1) of the first zero on the diagonal, 0 if there is none."""
    zeros = xp.diagonal(factors, axis1=-2, axis2=-1) == 0
    first = xp.argmax(zeros, axis=-1) + 1 if zeros.shape[-1] else xp.zeros(zeros.shape[:-1])
    return xp.asarray(xp.where(zeros.any(axis=-1), first, 0), I32)


def substitute(xp: Namespace, a: Array, b: Array, upper: bool, unit: bool) -> Array:
    """Solve ``a @ x = b`` for triangular `a`; large ones in halves, as products of matrices."""
    size = a.shape[-1]
    if size > 32:
        middle = size // 2
        top, bottom = slice(None, middle), slice(middle, None)
        done, rest = (bottom, top) if upper else (top, bottom)
        known = substitute(xp, a[..., done, done], b[..., done, :], upper, unit)
        left = b[..., rest, :] - xp.matmul(a[..., rest, done], known)
        other = substitute(xp, a[..., rest, rest], left, upper, unit)
        return xp.concatenate((other, known) if upper else (known, other), axis=-2)
    lead = batch_shape(a.shape[:-2], b.shape[:-2])
    x = xp.array(xp.broadcast_to(b, (*lead, *b.shape[-2:])), order="C")
    for i in reversed(range(size)) if upper else range(size):
        done = slice(i + 1, None) if upper else slice(None, i)
        x[..., i, :] -= xp.matmul(a[..., None, i, done], x[..., done, :])[..., 0, :]
        if not unit:
            x[..., i, :] /= a[..., i, i, None]
    return x
