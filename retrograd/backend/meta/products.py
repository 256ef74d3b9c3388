"""Products, linear algebra and Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.meta.arrays import MetaArray, new
from retrograd.backend.meta.elementwise import (
    dtypes_of,
    into,
)
from retrograd.backend.meta.layout import no_item
from retrograd.backend.meta.making import asarray
from retrograd.backend.meta.table import (
    FUNCTIONS,
    Function,
    function,
)

# ----------------------------------------------------------------------------------------- products


@function
def matmul(first: Any, second: Any, out: Any = None) -> Any:
    a, b = asarray(first), asarray(second)
    if not a.ndim or not b.ndim:
        raise ValueError("matmul: Input operand does not have enough dimensions")
    rows, left = a.shape[-2:-1], a.shape[-1]
    columns, right = b.shape[-1:] if b.ndim > 1 else (), b.shape[-2 if b.ndim > 1 else -1]
    if left != right:
        raise ValueError(
            f"matmul: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
            f"signature (n?,k),(k,m?)->(n?,m?) (size {right} is different from {left})"
        )
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    kind = dtypes_of(np.matmul, (a.dtype, b.dtype))
    lengths = (*batch, *rows, *columns)
    if out is not None:
        return into(out, lengths, kind)
    return new(lengths, kind, unsure=a.unsure or b.unsure)


def _product(function: Function) -> Function:
    def product(first: Any, second: Any, out: Any = None) -> Any:
        a, b = asarray(first), asarray(second)
        kind = dtypes_of(function, (a.dtype, b.dtype))
        if not a.ndim or not b.ndim:
            return new((*a.shape, *b.shape), kind)
        if function is np.vdot:
            return new((), kind)
        if a.ndim == 1 and b.ndim == 1 and function is np.dot:
            if a.shape != b.shape:
                raise ValueError(f"shapes {a.shape} and {b.shape} not aligned")
            return new((), kind)
        if function is np.dot:
            lengths = (*a.shape[:-1], *b.shape[:-2], *(b.shape[-1:] if b.ndim > 1 else ()))
        elif function is np.outer:
            lengths = (a.size, b.size)
        else:
            lengths = np.broadcast_shapes(a.shape, b.shape)[:-1]
        return new(lengths, kind)

    return product


for _name in ("dot", "vdot", "outer"):
    FUNCTIONS[_name] = _product(getattr(np, _name))


@function
def vecdot(first: Any, second: Any, axis: int = -1) -> MetaArray:
    a, b = asarray(first), asarray(second)
    return new(
        np.broadcast_shapes(a.shape, b.shape)[:-1], dtypes_of(np.multiply, (a.dtype, b.dtype))
    )


@function
def kron(first: MetaArray, second: MetaArray) -> MetaArray:
    kind = dtypes_of(np.multiply, (first.dtype, second.dtype))
    width = max(first.ndim, second.ndim)
    a = (1,) * (width - first.ndim) + first.shape
    b = (1,) * (width - second.ndim) + second.shape
    return new([x * y for x, y in zip(a, b, strict=True)], kind)


@function
def einsum(equation: str, *arrays: MetaArray, optimize: Any = False) -> MetaArray:
    """`equation` names all dimensions, and has an arrow."""
    inputs, _, output = equation.replace(" ", "").partition("->")
    lengths: dict[str, int] = {}
    rest: tuple[int, ...] = ()
    for letters, array in zip(inputs.split(","), arrays, strict=True):
        before, dots, after = letters.partition("...")
        if dots:
            rest = np.broadcast_shapes(rest, array.shape[len(before) : array.ndim - len(after)])
        sizes = array.shape[: len(before)], array.shape[array.ndim - len(after) :]
        for name, length in zip(before + after, sizes[0] + sizes[1], strict=True):
            if lengths.setdefault(name, length) in (1, length):
                lengths[name] = length
            elif length != 1:
                raise ValueError(f"einsum: dimension '{name}' does not fit")
    before, dots, after = output.partition("...")
    shape = [lengths[name] for name in before]
    shape += [*rest] if dots else []
    kind = np.result_type(*[array.dtype for array in arrays])
    return new([*shape, *(lengths[name] for name in after)], kind)


# ----------------------------------------------------------------------------------- linear algebra


def _matrix(function: Function, shapes: Callable[[tuple[int, ...]], Any]) -> Function:
    """A function of matrices: `shapes` says those of its results by that of its first operand."""

    def call(first: MetaArray, *more: Any, **options: Any) -> Any:
        kinds = _linalg_dtypes(function, first.dtype, tuple(sorted(options.items())))
        found = shapes(first.shape)
        if isinstance(found, list):
            return tuple(new(s, k) for s, k in zip(found, kinds, strict=True))
        return new(found, kinds if not isinstance(kinds, tuple) else kinds[0])

    return call


def _linalg_dtypes(function: Function, dtype: DType, options: tuple[Any, ...]) -> Any:
    given: Any = np.eye(2, dtype=dtype)
    if function in (np.linalg.solve,):
        return function(given, given).dtype
    found = function(given, **dict(options))
    return tuple(part.dtype for part in found) if isinstance(found, tuple) else found.dtype


def _svd(array: MetaArray, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    *batch, rows, columns = array.shape
    least = min(rows, columns)
    values = new((*batch, least), np.linalg.svd(np.eye(2, dtype=array.dtype))[1].dtype)
    if not compute_uv:
        return values
    u = (*batch, rows, rows if full_matrices else least)
    v = (*batch, columns if full_matrices else least, columns)
    return new(u, array.dtype), values, new(v, array.dtype)


def _qr(array: MetaArray, mode: str = "reduced") -> Any:
    *batch, rows, columns = array.shape
    least = min(rows, columns)
    if mode == "r":
        return new((*batch, least, columns), array.dtype)
    if mode == "raw":
        factors = new(array.shape, array.dtype).swapaxes(-1, -2)
        return factors, new((*batch, least), array.dtype)
    inner = rows if mode == "complete" else least
    return new((*batch, rows, inner), array.dtype), new((*batch, inner, columns), array.dtype)


def _solve(a: MetaArray, b: MetaArray) -> MetaArray:
    kind = np.result_type(a.dtype, b.dtype)
    batch = a.shape[:-2]
    if b.ndim == 1:
        return new((*batch, *b.shape), kind)
    return new((*np.broadcast_shapes(batch, b.shape[:-2]), *b.shape[-2:]), kind)


class Matrices:
    """`xp.linalg`."""

    LinAlgError = np.linalg.LinAlgError
    cholesky = staticmethod(_matrix(np.linalg.cholesky, lambda s: s))
    det = staticmethod(_matrix(np.linalg.det, lambda s: s[:-2]))
    eig = staticmethod(
        lambda a: (
            new(a.shape[:-1], np.result_type(a.dtype, np.complex64)),
            new(a.shape, np.result_type(a.dtype, np.complex64)),
        )
    )
    eigvals = staticmethod(lambda a: new(a.shape[:-1], np.result_type(a.dtype, np.complex64)))
    eigh = staticmethod(
        lambda a, uplo="L": (new(a.shape[:-1], a.real.dtype), new(a.shape, a.dtype))
    )
    eigvalsh = staticmethod(lambda a, uplo="L": new(a.shape[:-1], a.real.dtype))
    inv = staticmethod(_matrix(np.linalg.inv, lambda s: s))
    slogdet = staticmethod(_matrix(np.linalg.slogdet, lambda s: [s[:-2], s[:-2]]))
    svd = staticmethod(_svd)
    qr = staticmethod(_qr)
    solve = staticmethod(_solve)

    def __getattr__(self, name: str) -> Any:
        raise no_item()


def _fourier(name: str) -> Function:
    function = getattr(np.fft, name)

    def call(
        array: MetaArray, s: Any = None, axes: Any = None, norm: str | None = None
    ) -> MetaArray:
        chosen = tuple(range(array.ndim)) if axes is None else tuple(axes)
        lengths = list(array.shape)
        for axis, length in zip(chosen, s or (), strict=bool(s)):
            lengths[axis] = length
        if name == "rfftn":
            lengths[chosen[-1]] = lengths[chosen[-1]] // 2 + 1
        return new(lengths, function(np.ones((2,), array.dtype)).dtype)

    return call


class Fourier:
    """`xp.fft`."""

    fftn = staticmethod(_fourier("fftn"))
    ifftn = staticmethod(_fourier("ifftn"))
    rfftn = staticmethod(_fourier("rfftn"))
    irfftn = staticmethod(_fourier("irfftn"))

    def __getattr__(self, name: str) -> Any:
        raise no_item()
