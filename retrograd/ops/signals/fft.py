"""Discrete Fourier transforms.

Three ops do all the work: complex to complex, real to complex, complex to real. Each transform is
linear, so its gradient is its adjoint: the transform in the other direction, with the same scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Ints, Namespace, operand, wrap_dim
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.registry import RECORDED, Table, fft_function, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

Dims = tuple[int, ...]

# What a transform is divided by: nothing, the square root of its length, its length.
_NOTHING, _ROOT, _LENGTH = 0, 1, 2
_FORWARD = {_NOTHING: "backward", _ROOT: "ortho", _LENGTH: "forward"}  # NumPy's names for them
_INVERSE = {_NOTHING: "forward", _ROOT: "ortho", _LENGTH: "backward"}


# ------------------------------------------------------------------------------------ the ops


@op(
    input=lambda m, g, dim, scale, forward: m._fft_c2c(g, dim, scale, not forward),
    holomorphic=False,
    forward="linear",
    aten="_fft_c2c",
)
def _fft_c2c(xp: Namespace, input: Array, dim: Dims, scale: int, forward: bool) -> Array:
    """Complex to complex."""
    if not dim:
        return input.copy()
    if forward:
        return xp.fft.fftn(input, axes=dim, norm=_FORWARD[scale])
    return xp.fft.ifftn(input, axes=dim, norm=_INVERSE[scale])


def _r2c_gradient(
    m: Table, g: Tensor, dim: Dims, scale: int, onesided: bool, input_shape: Dims
) -> Tensor:
    if onesided:
        missing = input_shape[dim[-1]] - g.shape[dim[-1]]
        after = len(input_shape) - 1 - dim[-1]
        g = m.constant_pad_nd(g, (0, 0) * after + (0, missing), 0)
    return m.real(m._fft_c2c(g, dim, scale, False))


@op(
    input=_r2c_gradient,
    holomorphic=False,
    fast=False,
    forward="linear",
    aten="_fft_r2c",
)
def _fft_r2c(xp: Namespace, input: Array, dim: Dims, scale: int, onesided: bool) -> Array:
    """Real to complex; one-sided, the last of `dim` has no negative frequencies."""
    if onesided:
        return xp.fft.rfftn(input, axes=dim, norm=_FORWARD[scale])
    return xp.fft.fftn(input, axes=dim, norm=_FORWARD[scale])


def _c2r_gradient(
    m: Table, g: Tensor, dim: Dims, scale: int, last_size: int, out_dtype: DType
) -> Tensor:
    found = m._fft_r2c(g, dim, scale, True)
    # a frequency that has a negative twin counts twice
    count = found.shape[dim[-1]]
    weights = backend_of(found if m is not RECORDED else found._array).xp.ones(count, out_dtype)
    weights[1 : last_size - count + 1] = 2
    after = len(found.shape) - 1 - dim[-1]
    weights = weights.reshape((count,) + (1,) * after)
    return m.mul(found, operand(m, weights))


@op(
    input=_c2r_gradient,
    holomorphic=False,
    fast=False,
    forward="linear",
    aten="_fft_c2r",
)
def _fft_c2r(xp: Namespace, input: Array, dim: Dims, scale: int, last_size: int) -> Array:
    """Complex to real: the inverse of the one-sided transform of `last_size` real numbers."""
    sizes = [input.shape[d] for d in dim[:-1]] + [last_size]
    return xp.fft.irfftn(input, s=sizes, axes=dim, norm=_INVERSE[scale])


# ----------------------------------------------------------------------------------- arguments


def scale_of(norm: str | None, forward: bool) -> int:
    if norm is None or norm == "backward":
        return _NOTHING if forward else _LENGTH
    if norm == "forward":
        return _LENGTH if forward else _NOTHING
    if norm == "ortho":
        return _ROOT
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _check_kind(input: Tensor) -> None:
    if input._array.dtype is dtypes.C32:
        raise errors.runtime_error("MKL FFT doesn't support tensors of type: Half", code="RG304")
    if input._array.dtype in dtypes.HALF_TYPES:
        kind = dtypes.from_numpy_dtype(input._array.dtype).type_name
        raise errors.runtime_error(f"Unsupported dtype {kind}", code="RG304")


def _as_float(input: Tensor) -> Tensor:
    """Integers become the default float dtype."""
    _check_kind(input)
    if input._array.dtype in dtypes.DIFFERENTIABLE:
        return input
    return input.to(dtypes.get_default_dtype())


def as_complex(input: Tensor) -> Tensor:
    input = _as_float(input)
    own = dtypes.from_numpy_dtype(input._array.dtype)
    if own.is_complex:
        return input
    return input.to(own.to_complex())


def as_real(input: Tensor, refusal: str) -> Tensor:
    """The input as floats; complex numbers are refused."""
    if input._array.dtype in dtypes.COMPLEX_TYPES:
        kind = dtypes.from_numpy_dtype(input._array.dtype).type_name
        raise RuntimeError(f"{refusal} {kind}")
    return _as_float(input)


def require_input(name: str, input: Tensor) -> None:
    if not isinstance(input, Tensor):
        raise errors.argument_type(f"fft_{name}", "input", 1, "Tensor", input)


def _one_dim(input: Tensor, dim: int) -> int:
    ndim = input._array.ndim
    if not ndim:
        raise errors.explained(
            IndexError(f"Dimension specified as {dim} but tensor has no dimensions"), code="RG205"
        )
    return wrap_dim(dim, ndim)


def check_size(size: int) -> None:
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")


def resized(input: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Cut off or fill up with zeros, along `dims`; a size of -1 stays."""
    ndim = input._array.ndim
    longer = [0] * ndim
    for dim, size in zip(dims, sizes, strict=True):
        own = input._array.shape[dim]
        if size == -1:
            continue
        if size < own:
            input = RECORDED.slice(input, dim, 0, size, 1)
        elif size > own:
            longer[dim] = size - own
    if any(longer):
        pad = [n for more in reversed(longer) for n in (0, more)]
        input = RECORDED.constant_pad_nd(input, tuple(pad), 0)
    return input


def dims_and_sizes(input: Tensor, s: Ints | None, dim: Ints | None) -> tuple[Dims, list[int]]:
    """The dimensions to transform and their sizes after resizing."""
    shape = input._array.shape
    ndim = len(shape)
    wanted = (s,) if isinstance(s, int) else s
    if dim is not None:
        given = (dim,) if isinstance(dim, int) else tuple(dim)
        dims = tuple(wrap_dim(d, ndim) for d in given)
        if len(set(dims)) != len(dims):
            raise errors.runtime_error("FFT dims must be unique", code="RG205")
        if wanted is not None and len(wanted) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif wanted is not None:
        if len(wanted) > ndim:
            raise RuntimeError(
                f"Got shape with {len(wanted)} values but input tensor only has {ndim} dimensions."
            )
        dims = tuple(range(ndim - len(wanted), ndim))
    else:
        dims = tuple(range(ndim))
    sizes = [shape[d] for d in dims]
    if wanted is not None:
        sizes = [own if size == -1 else int(size) for own, size in zip(sizes, wanted, strict=True)]
    for size in sizes:
        check_size(size)
    return dims, sizes


# ------------------------------------------------------------------------------- one dimension

NORMS = (None, "forward", "backward", "ortho")


def _samples_1d(*, real: bool = False, half: bool = False) -> list[Sample]:
    """Samples of a one-dimensional transform; `half`: of a one-sided input."""
    kinds = FLOATS if real else (*FLOATS, *COMPLEX)
    return [
        Sample(T(5), dtypes=kinds),
        Sample(T(2, 6), dtypes=kinds),
        Sample(T(4, 3), dim=0, dtypes=kinds),
        *(Sample(T(4), norm=norm, dtypes=kinds) for norm in NORMS),
        *(Sample(T(5), norm=norm, dtypes=kinds) for norm in NORMS),
        *(Sample(T(5), n, dtypes=kinds) for n in (1, 2, 3, 4, 5, 8, 9)),
        Sample(T(3, 4, 2), 5, 1, "ortho"),
        Sample(T(4, dtype="int64"), grad=False),
        Sample(T(4, dtype="bool"), grad=False),
        Sample(T(4), dtypes=HALVES),
        Sample(T(4), n=0, error=(RuntimeError, "Invalid number of data points (0) specified")),
        Sample(T(0), error=(RuntimeError, "Invalid number of data points")),
        Sample(T(4), dim=1, error=(IndexError, "Dimension out of range")),
        Sample(T(), error=(IndexError, "Dimension specified as -1 but tensor has no")),
        Sample(T(4), norm="foo", error=(RuntimeError, "Invalid normalization mode: ")),
        Sample(3, error=(TypeError, "fft_")),
        *([Sample(T(4, dtype="complex64"), error=(RuntimeError, ""))] if real else []),
        *([Sample(T(1), error=(RuntimeError, "Invalid number"))] if half else []),
    ]


def _full(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool
) -> Tensor:
    input = _as_float(input)
    axis = _one_dim(input, dim)
    if n is not None:
        check_size(n)
        input = resized(input, (axis,), (n,))
    check_size(input._array.shape[axis])
    scale = scale_of(norm, forward)
    if input._array.dtype in dtypes.COMPLEX_TYPES:
        return RECORDED._fft_c2c(input, (axis,), scale, forward)
    result = RECORDED._fft_r2c(input, (axis,), scale, False)
    return result if forward else RECORDED.conj(result)


def _to_half(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool
) -> Tensor:
    """Real input, one-sided output."""
    input = as_real(input, f"{name} expects a real input tensor, but got")
    axis = _one_dim(input, dim)
    if n is not None:
        check_size(n)
        input = resized(input, (axis,), (n,))
    check_size(input._array.shape[axis])
    result: Tensor = RECORDED._fft_r2c(input, (axis,), scale_of(norm, forward), True)
    return result if forward else RECORDED.conj(result)


def _from_half(
    name: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool
) -> Tensor:
    """One-sided input, real output."""
    input = as_complex(input)
    axis = _one_dim(input, dim)
    size = 2 * (input._array.shape[axis] - 1) if n is None else n
    check_size(size)
    if n is not None:
        input = resized(input, (axis,), (size // 2 + 1,))
    scale = scale_of(norm, forward)
    if forward:
        input = RECORDED.conj(input)
    return RECORDED._fft_c2r(input, (axis,), scale, size)


def _transform(
    name: str, way: Callable[..., Tensor], forward: bool, doc: str, **kinds: bool
) -> Callable[..., Tensor]:
    """The public transform of a name: all take the same arguments."""

    def transform(
        input: Tensor,
        n: int | None = None,
        dim: int = -1,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        require_input(name, input)
        return finish(f"fft_{name}", way(name, input, n, dim, norm, forward), out)

    transform.__name__, transform.__doc__ = name, doc
    return fft_function(samples=lambda: _samples_1d(**kinds), autocast="float32")(transform)


fft = _transform(
    "fft",
    _full,
    True,
    """The Fourier transform along one dimension, cut or filled with zeros to length `n`.

    >>> torch.fft.fft(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """,
)
ifft = _transform("ifft", _full, False, "The inverse of `fft`.")
rfft = _transform(
    "rfft",
    _to_half,
    True,
    "The Fourier transform of real numbers: only the frequencies that are not negative.",
    real=True,
)
irfft = _transform(
    "irfft",
    _from_half,
    False,
    "The inverse of `rfft`; `n` is the length of the result, by default an even one.",
    half=True,
)
hfft = _transform(
    "hfft",
    _from_half,
    True,
    "The Fourier transform of a signal with Hermitian symmetry, given its first half.",
    half=True,
)
ihfft = _transform("ihfft", _to_half, False, "The inverse of `hfft`.", real=True)
