"""Fourier transforms along several dimensions, frequencies, and shifts of the origin."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU
from retrograd.ops.kinds import Ints, wrap_dims
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.making.creation import deliver
from retrograd.ops.registry import RECORDED, fft_function
from retrograd.ops.signals.fft import (
    NORMS,
    as_complex,
    as_real,
    check_size,
    dims_and_sizes,
    require_input,
    resized,
    scale_of,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device, backend_at, layout, strided


def _full(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None, norm: str | None, forward: bool
) -> Tensor:
    dims, sizes = dims_and_sizes(input, s, dim)
    input = resized(as_complex(input), dims, sizes)
    return RECORDED._fft_c2c(input, dims, scale_of(norm, forward), forward)


def _check_some(name: str, dims: tuple[int, ...]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _to_half(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None, norm: str | None
) -> Tensor:
    input = as_real(input, "rfftn expects a real-valued input tensor, but got")
    dims, sizes = dims_and_sizes(input, s, dim)
    _check_some(name, dims)
    input = resized(input, dims, sizes)
    return RECORDED._fft_r2c(input, dims, scale_of(norm, True), True)


def _half_sizes(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None
) -> tuple[tuple[int, ...], list[int], int]:
    """Dimensions, sizes of a one-sided input, and the last size of the real output."""
    dims, sizes = dims_and_sizes(input, s, dim)
    _check_some(name, dims)
    given = None if s is None else ((s,) if isinstance(s, int) else s)[-1]
    if given is None or given == -1:
        last = 2 * (input._array.shape[dims[-1]] - 1)
    else:
        last = int(given)
    check_size(last)
    sizes[-1] = last // 2 + 1
    return dims, sizes, last


def _from_half(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None, norm: str | None
) -> Tensor:
    input = as_complex(input)
    dims, sizes, last = _half_sizes(name, input, s, dim)
    input = resized(input, dims, sizes)
    return RECORDED._fft_c2r(input, dims, scale_of(norm, False), last)


def _hermitian(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None, norm: str | None
) -> Tensor:
    input = as_complex(input)
    dims, sizes, last = _half_sizes(name, input, s, dim)
    input = resized(input, dims, sizes)
    scale = scale_of(norm, True)
    if len(dims) > 1:
        input = RECORDED._fft_c2c(input, dims[:-1], scale, True)
    return RECORDED._fft_c2r(RECORDED.conj(input), dims[-1:], scale, last)


def _inverse_hermitian(
    name: str, input: Tensor, s: Ints | None, dim: Ints | None, norm: str | None
) -> Tensor:
    input = as_real(input, "Only supports floating-point dtypes, but found:")
    dims, sizes = dims_and_sizes(input, s, dim)
    _check_some(name, dims)
    input = resized(input, dims, sizes)
    scale = scale_of(norm, False)
    half: Tensor = RECORDED._conj_physical(RECORDED._fft_r2c(input, dims[-1:], scale, True))
    return RECORDED._fft_c2c(half, dims[:-1], scale, False) if len(dims) > 1 else half


def _samples(*, real: bool = False, two: bool = False, half: bool = False) -> list[Sample]:
    kinds = FLOATS if real else (*FLOATS, *COMPLEX)
    found = [
        Sample(T(3, 4), dtypes=kinds),
        Sample(T(2, 3, 4), dtypes=kinds),
        *(Sample(T(3, 4), norm=norm, dtypes=kinds) for norm in NORMS),
        Sample(T(3, 4), (2, 5), dtypes=kinds),
        Sample(T(3, 4), (5, 3)),
        Sample(T(3, 4), s=(-1, 6)),
        Sample(T(3, 4), s=(4, -1)),
        Sample(T(2, 3, 4), (2, 3), (0, 2), dtypes=kinds),
        Sample(T(2, 3, 4), dim=(2, 0)),
        Sample(T(2, 3, 4), dim=(-1, 0), norm="ortho"),
        Sample(T(3, 4, dtype="int64"), grad=False),
        Sample(T(3, 4), dtypes=HALVES),
        Sample(T(2, 3), dim=(0, 0), error=(RuntimeError, "FFT dims must be unique")),
        Sample(T(2, 3), (2, 2), (0,), error=(RuntimeError, "When given, dim and shape")),
        Sample(T(2, 3), s=(0, 2), error=(RuntimeError, "Invalid number of data points")),
        Sample(T(2, 3), norm="foo", error=(RuntimeError, "Invalid normalization mode: ")),
        Sample(3, error=(TypeError, "fft_")),
    ]
    if two:
        found.append(Sample(T(4), error=(IndexError, "Dimension out of range")))
    else:
        found += [
            Sample(T(5), dtypes=kinds),
            Sample(T(2, 3, 4), s=(2, 2)),
            Sample(T(2, 3), s=(2, 2, 2), error=(RuntimeError, "Got shape with 3 values but")),
        ]
    if real:
        found.append(Sample(T(3, 3, dtype="complex64"), error=(RuntimeError, "")))
    if real or half:
        found.append(Sample(T(2, 3), dim=(), error=(RuntimeError, "")))
    return found


def _transform(
    name: str, way: Callable[..., Tensor], doc: str, autocast: str | None = "float32", **kinds: bool
) -> Callable[..., Tensor]:
    """The public transform of a name; one that ends in 2 is along the last two dimensions."""
    two = name.endswith("2")
    dims = (-2, -1) if two else None

    def transform(
        input: Tensor,
        s: Sequence[int] | None = None,
        dim: Ints | None = dims,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        require_input(name, input)
        return finish(f"fft_{name}", way(name.replace("2", "n"), input, s, dim, norm), out)

    transform.__name__, transform.__doc__ = name, doc
    return fft_function(samples=lambda: _samples(two=two, **kinds), autocast=autocast)(transform)


_forward = functools.partial(_full, forward=True)
_backward = functools.partial(_full, forward=False)

fftn = _transform(
    "fftn",
    _forward,
    "The Fourier transform along `dim` (all by default), resized to `s` first.",
)
ifftn = _transform("ifftn", _backward, "The inverse of `fftn`.")
rfftn = _transform(
    "rfftn",
    _to_half,
    "The transform of real numbers; the last dimension has no negative frequencies.",
    real=True,
)
irfftn = _transform("irfftn", _from_half, "The inverse of `rfftn`.", half=True)
fft2 = _transform(
    "fft2",
    _forward,
    """The Fourier transform along two dimensions.

    >>> torch.fft.fft2(torch.ones(2, 2))
    tensor([[4.+0.j, 0.+0.j],
            [0.+0.j, 0.+0.j]])
    """,
)
ifft2 = _transform("ifft2", _backward, "The inverse of `fft2`.")
rfft2 = _transform(
    "rfft2", _to_half, "The transform of real numbers along two dimensions.", real=True
)
irfft2 = _transform("irfft2", _from_half, "The inverse of `rfft2`.", half=True)
hfftn = _transform(
    "hfftn",
    _hermitian,
    "The transform of a signal with Hermitian symmetry, given half of its last dimension.",
    None,
    half=True,
)
ihfftn = _transform("ihfftn", _inverse_hermitian, "The inverse of `hfftn`.", None, real=True)
hfft2 = _transform(
    "hfft2",
    _hermitian,
    "The two-dimensional transform of a signal with Hermitian symmetry.",
    None,
    half=True,
)
ihfft2 = _transform("ihfft2", _inverse_hermitian, "The inverse of `hfft2`.", None, real=True)


# --------------------------------------------------------------------- frequencies and shifts


def _frequencies(
    name: str,
    steps: Any,
    n: int,
    d: float,
    dtype: dtypes.dtype | None,
    out: Tensor | None,
    device: Device,
    requires_grad: bool,
) -> Tensor:
    chosen = dtypes.as_dtype(dtype, name) or dtypes.get_default_dtype()
    # with no samples the step is infinite, and zero times infinity nan
    step = CPU.xp.asarray(1.0 / (n * d) if n * d else math.inf, chosen.numpy)
    values = CPU.xp.multiply(steps.astype(chosen.numpy), step)
    return deliver(name, backend_at(device).from_numpy(values), out, dtype, requires_grad)


def _frequency_samples() -> list[Sample]:
    return [
        *(Sample(n, grad=False) for n in (1, 4, 5, 0)),
        Sample(4, 0.5, grad=False),
        Sample(5, d=2.0, dtype="dtype:float64", grad=False),
    ]


@fft_function(samples=_frequency_samples)
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that `fft` of `n` samples, `d` apart, computes.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    half = (n - 1) // 2 + 1
    steps = CPU.xp.concatenate([CPU.xp.arange(half), CPU.xp.arange(-(n // 2), 0)])
    return _frequencies("fft_fftfreq", steps, n, d, dtype, out, device, requires_grad)


@fft_function(samples=_frequency_samples)
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies that `rfft` of `n` samples, `d` apart, computes."""
    steps = CPU.xp.arange(n // 2 + 1)
    return _frequencies("fft_rfftfreq", steps, n, d, dtype, out, device, requires_grad)


def _shifted(name: str, input: Tensor, dim: Ints | None, back: bool) -> Tensor:
    require_input(name, input)
    dims = wrap_dims(dim, input._array.ndim)
    sizes = [input._array.shape[d] for d in dims]
    steps = tuple((size + 1) // 2 if back else size // 2 for size in sizes)
    return RECORDED.roll(input, steps, dims)


def _shift_samples() -> list[Sample]:
    return [
        Sample(T(5), dtypes=(*FLOATS, *COMPLEX, *HALVES)),
        Sample(T(4)),
        Sample(T(3, 4)),
        Sample(T(3, 4), dim=1),
        Sample(T(3, 4, 5), (0, -1)),
        Sample(T(4, dtype="int64"), grad=False),
        Sample(T(3), dim=1, error=(IndexError, "Dimension out of range")),
    ]


@fft_function(samples=_shift_samples)
def fftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """The frequencies in rising order, zero in the middle."""
    return _shifted("fftshift", input, dim, False)


@fft_function(samples=_shift_samples)
def ifftshift(input: Tensor, dim: Ints | None = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _shifted("ifftshift", input, dim, True)
