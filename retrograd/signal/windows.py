"""Window functions: weights that fade a piece of a signal in and out.

>>> import retrograd as torch
>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])

``sym=True`` gives symmetric windows for filters, ``sym=False`` periodic ones for Fourier
transforms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from retrograd import dtypes
from retrograd.namespaces import from_table
from retrograd.ops.making.construction import fresh
from retrograd.tensor import Array, Tensor
from retrograd.tensor.size import backend_at, strided
from retrograd.tensor.size import layout as Layout

__all__ = [
    *("bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine"),
    *("general_hamming", "hamming", "hann", "kaiser", "nuttall"),
]


def _make(
    name: str,
    M: int,
    shape: Callable[[Array, int], Array],
    sym: bool,
    dtype: dtypes.dtype | None,
    layout: Layout,
    device: object,
    requires_grad: bool,
    complaint: str | None = None,
    single: bool = False,
) -> Tensor:
    """Check what all windows check, and make the one that `shape` gives for 0, 1 ... M - 1.

    The second argument of `shape` is the length that the window is symmetric in: M + 1 for
    periodic windows. Numbers are computed in double precision. `complaint` says what is wrong
    with an option of the window's own; `single` windows have a shape even if they are one long.
    """
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    if complaint is not None:
        raise ValueError(complaint)
    place = backend_at(device)
    if not isinstance(M, int):
        raise TypeError(f"{name}(): argument 'M' (position 1) must be int, not {type(M).__name__}")
    if M < (1 if single else 2):
        return fresh(place.from_numpy(np.ones(M, kind.numpy)), requires_grad)
    window = shape(np.arange(M, dtype=np.float64), M if sym or M == 1 else M + 1)
    return fresh(place.from_numpy(window.astype(kind.numpy)), requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Layout = strided,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Exponential decay with the time constant `tau`, away from `center` (the middle)."""
    complaint = None
    if tau <= 0:
        complaint = f"Tau must be positive, got: {tau} instead."
    elif sym and center is not None:
        complaint = "Center must be None for symmetric windows"

    def shape(n: Array, length: int) -> Array:
        middle = (length - 1) / 2 if center is None else center
        return np.exp(-np.abs(n - middle) / tau)

    options = (dtype, layout, device, requires_grad)
    return _make("exponential", M, shape, sym, *options, complaint, single=True)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Layout = strided,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A bell curve of this standard deviation."""
    complaint = f"Standard deviation must be positive, got: {std} instead." if std <= 0 else None

    def shape(n: Array, length: int) -> Array:
        return np.exp(-(((n - (length - 1) / 2) / (std * math.sqrt(2))) ** 2))

    options = (dtype, layout, device, requires_grad)
    return _make("gaussian", M, shape, sym, *options, complaint, single=True)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Layout = strided,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Bessel functions with a chosen trade between width and leakage."""
    complaint = f"beta must be non-negative, got: {beta} instead." if beta < 0 else None

    def shape(n: Array, length: int) -> Array:
        inside = np.maximum(1 - (2 * n / (length - 1) - 1) ** 2, 0)
        return np.i0(beta * np.sqrt(inside)) / np.i0(np.float64(beta))

    return _make("kaiser", M, shape, sym, dtype, layout, device, requires_grad, complaint)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Layout = strided,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of cosines with the weights `a` and alternating signs."""
    return _make("general_cosine", M, _cosines(a), sym, dtype, layout, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: dtypes.dtype | None = None,
    layout: Layout = strided,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A raised cosine, ``alpha - (1 - alpha) * cos``."""
    options = (dtype, layout, device, requires_grad)
    return _make("general_cosine", M, _cosines([alpha, 1 - alpha]), sym, *options)


def _window(
    name: str, doc: str, shape: Callable[[Array, int], Array], says: str | None = None
) -> Callable[..., Tensor]:
    """A window without options of its own; its errors name `says`, as PyTorch's do."""

    def window(
        M: int,
        *,
        sym: bool = True,
        dtype: dtypes.dtype | None = None,
        layout: Layout = strided,
        device: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        return _make(says or name, M, shape, sym, dtype, layout, device, requires_grad)

    window.__name__ = window.__qualname__ = name
    window.__doc__ = doc
    return window


def _cosines(a: object) -> Callable[[Array, int], Array]:
    def shape(n: Array, length: int) -> Array:
        if not isinstance(a, Iterable):
            raise TypeError("Coefficients must be a list/tuple")
        if not a:
            raise ValueError("Coefficients cannot be empty")
        angles = 2 * math.pi * n / (length - 1)
        terms = [(-1) ** k * weight * np.cos(k * angles) for k, weight in enumerate(a)]
        result: Array = np.sum(terms, axis=0)
        return result

    return shape


bartlett = _window(
    "bartlett",
    "A triangle that goes to zero at both ends.",
    lambda n, length: 1 - np.abs(2 * n / (length - 1) - 1),
)
cosine = _window(
    "cosine",
    "Half a period of a sine, sampled between the ends.",
    lambda n, length: np.sin(math.pi / length * (n + 0.5)),
)
hamming = _window(
    "hamming",
    "A raised cosine that stays above zero: `general_hamming` with 0.54.",
    _cosines([0.54, 0.46]),
    "general_cosine",
)
hann = _window(
    "hann",
    "A raised cosine that goes to zero at both ends.",
    _cosines([0.5, 0.5]),
    "general_cosine",
)
blackman = _window(
    "blackman", "A sum of three cosines with little leakage.", _cosines([0.42, 0.5, 0.08])
)
nuttall = _window(
    "nuttall",
    "A sum of four cosines with very little leakage.",
    _cosines([0.3635819, 0.4891775, 0.1365995, 0.0106411]),
    "general_cosine",
)

from_table(__name__)
