"""The short-time Fourier transform and its inverse: pieces of a signal, windowed, transformed.

Both are made of other ops (padding, views of pieces, products, Fourier transforms, adding pieces
up), so their gradients follow.
"""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes
from retrograd.backend import backend_of
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops.errors import argument_type
from retrograd.ops.kinds import Namespace
from retrograd.ops.registry import PUBLIC, RECORDED, composite
from retrograd.samples import COMPLEX, Sample, T
from retrograd.tensor import Tensor, wrap

_HALF_SPECTRUM = "Cannot have onesided output if window or input is complex"


def _stft_samples() -> list[Sample]:
    plain: Any = {"return_complex": True}
    window = T(6, low=0.5, high=1.5)
    return [
        Sample(T(2, 20), 6, window=window, **plain),
        Sample(T(20), 6, 2, 4, T(4, low=0.5, high=1.5), **plain),
        Sample(T(20), 6, 2, 3, T(3, low=0.5, high=1.5), **plain),
        Sample(T(20), 7, 3, window=T(7, low=0.5, high=1.5), onesided=False, **plain),
        Sample(T(20), 6, center=False, window=window, normalized=True, **plain),
        Sample(T(20), 6, pad_mode="constant", window=window, **plain),
        Sample(T(2, 20), 6, pad_mode="replicate", window=window, **plain),
        Sample(T(2, 20), 6, pad_mode="circular", window=window, **plain),
        Sample(T(20), 6, window=window, return_complex=False),
        Sample(T(20), 6, window=window, dtypes=COMPLEX),
        Sample(T(2, 20), 6, return_complex=False, dtypes=COMPLEX),
        Sample(T(20), 5, **plain),
        Sample(T(1, 20), 20, center=False, **plain),
        Sample(T(20), 8, win_length=4, center=False, align_to_window=True, **plain),
        Sample(T(20), 8, win_length=4, center=False, align_to_window=False, **plain),
        Sample(T(20), 6, error=(RuntimeError, "stft requires the return_complex parameter")),
        Sample(T(20), 6, onesided=True, dtypes=COMPLEX, error=(RuntimeError, _HALF_SPECTRUM)),
        Sample(T(20), 6, align_to_window=True, error=(RuntimeError, "stft align_to_window sh")),
        Sample(T(20), 0, **plain, error=(RuntimeError, "stft(")),
        Sample(T(20), 40, center=False, **plain, error=(RuntimeError, "stft(")),
        Sample(T(20), 40, **plain, error=(RuntimeError, "Argument #4: Padding size should")),
        Sample(T(20), 6, 0, **plain, error=(RuntimeError, "stft(")),
        Sample(T(20), 6, win_length=7, **plain, error=(RuntimeError, "stft(")),
        Sample(T(20), 6, window=T(5), **plain, error=(RuntimeError, "stft(")),
        Sample(T(20, dtype="int64"), 6, **plain, error=(RuntimeError, "stft(")),
        Sample(T(2, 2, 20), 6, **plain, error=(RuntimeError, "stft(")),
        Sample(T(20), 6, pad_mode="odd", **plain, error=(NotImplementedError, "Unrecognised")),
    ]


def _shown(tensor: Tensor, braces: bool = False) -> str:
    """A tensor in the messages of these functions: its type and sizes."""
    sizes = list(tensor.shape)
    name = tensor.dtype.tensor_name
    return f"{name}{{{sizes}}}" if braces else f"{name}{sizes}"


def _option(value: object) -> Any:
    if isinstance(value, Tensor):
        return _shown(value, braces=True)
    return int(value) if isinstance(value, bool) else value


def _invalid(function: str, input: Tensor, options: dict[str, Any], what: str) -> RuntimeError:
    """PyTorch's errors here repeat the whole call."""
    listed = ", ".join(f"{name}={_option(value)}" for name, value in options.items())
    return RuntimeError(f"{function}({_shown(input)}, {listed}) {what}")


def _is_complex(tensor: Tensor | None) -> bool:
    return tensor is not None and tensor.dtype.is_complex


def _full_window(
    xp: Namespace, window: Tensor | None, length: int, size: int, kind: dtypes.dtype
) -> Tensor | None:
    """The window with zeros on both sides up to `size`; of ones if none was given."""
    found = window
    if found is None:
        if length == size:
            return None
        found = wrap(xp.ones(length, kind.numpy))
    if length == size:
        return found
    left = (size - length) // 2
    return RECORDED.constant_pad_nd(found, (left, size - length - left), 0)


@composite(samples=_stft_samples, autocast="float32")
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Fourier transforms of overlapping pieces of a signal: (..., frequency, piece).

    >>> torch.stft(torch.ones(8), 4, window=torch.hann_window(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if not isinstance(input, Tensor):
        raise argument_type("stft", "input", 1, "Tensor", input)
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center and pad_mode not in ("constant", "reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {pad_mode}")
    if center:
        input = _padded(input, int(n_fft // 2), pad_mode)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied,which is known to "
            "cause spectral leakage. Other windows such as torch.hann_window or "
            "torch.hamming_window are recommended to reduce spectral leakage.To suppress this "
            "warning and use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.",
            user_level(),
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    length = n_fft if win_length is None else win_length
    options = {
        "n_fft": n_fft, "hop_length": hop, "win_length": length, "window": window,
        "normalized": normalized, "onesided": onesided, "return_complex": return_complex,
        "align_to_window": align_to_window,
    }  # fmt: skip

    def invalid(what: str) -> RuntimeError:
        return _invalid("stft", input, options, f": {what}")

    any_complex = input.dtype.is_complex or _is_complex(window)
    as_complex = return_complex
    if as_complex is None:
        if not any_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will "
                "further require that return_complex=True in a future PyTorch release."
            )
        as_complex = True
    elif not as_complex:
        warn_once(
            "stft with return_complex=False is deprecated. In a future pytorch release, stft will "
            "return complex tensors for all inputs, and return_complex=False will raise an "
            "error.\nNote: you can still call torch.view_as_real on the complex output to recover "
            "the old return format.",
            user_level(),
        )
    if input.dtype.category < dtypes.FLOAT:
        raise invalid("expected a tensor of floating point or complex values")
    if not 1 <= input.ndim <= 2:
        raise invalid("expected a 1D or 2D tensor")
    signal = input if input.ndim == 2 else RECORDED.unsqueeze(input, 0)
    size = signal.shape[1]
    if not 0 < n_fft <= size:
        raise invalid(f"expected 0 < n_fft < {size}, but got n_fft={n_fft}")
    if hop <= 0:
        raise invalid(f"expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise invalid(f"expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != length):
        raise invalid(
            f"expected a 1D window tensor of size equal to win_length={length}, but got window "
            f"with size {list(window.shape)}"
        )
    half = not any_complex if onesided is None else onesided
    if half and any_complex:
        raise RuntimeError(_HALF_SPECTRUM)
    piece = n_fft
    if align_to_window and length < n_fft:
        piece = length  # pieces as long as the window, filled up afterwards
    pieces = RECORDED.unfold(signal, -1, piece, hop)
    shown = window if piece == length and piece < n_fft else None
    if piece < n_fft:
        left = (n_fft - length) // 2
        if shown is not None:
            pieces = RECORDED.mul(pieces, shown)
        pieces = RECORDED.constant_pad_nd(pieces, (left, n_fft - length - left), 0)
    else:
        full = _full_window(
            backend_of(input._array).xp, window, length, n_fft, input.dtype.to_real()
        )
        if full is not None:
            pieces = RECORDED.mul(pieces, full)
    scale = 1 if normalized else 0  # divided by the square root of the length, or not
    if any_complex:
        spectrum = RECORDED._fft_c2c(pieces, (2,), scale, True)
    else:
        spectrum = RECORDED._fft_r2c(pieces, (2,), scale, half)
    result: Tensor = RECORDED.transpose(spectrum, 1, 2)
    if input.ndim == 1:
        result = RECORDED.squeeze(result, 0)
    return result if as_complex else RECORDED.view_as_real(result)


def _padded(input: Tensor, amount: int, mode: str) -> Tensor:
    """The signal with `amount` more elements on each side."""
    pad = (amount, amount)
    if mode == "constant":
        return RECORDED.constant_pad_nd(input, pad, 0)
    batched = input
    for _ in range(max(3 - input.ndim, 0)):
        batched = RECORDED.unsqueeze(batched, 0)
    found = PUBLIC["nn.functional"]["pad"](batched, pad, mode)
    return RECORDED.reshape(found, (*input.shape[:-1], found.shape[-1]))


# -------------------------------------------------------------------------------------- inverse


def _istft_samples() -> list[Sample]:
    # a window has no imaginary part, so the samples with one fix the dtype
    window = T(6, low=0.5, high=1.5, dtype="float64", grad=True)
    short = T(5, low=0.5, high=1.5, dtype="float64", grad=True)
    single = T(6, low=0.5, high=1.5, dtype="float32", grad=True)
    kinds: Any = {"dtypes": COMPLEX}
    double: Any = {"dtypes": COMPLEX[1:]}
    return [
        Sample(T(4, 9), 6, window=window, **double),
        Sample(T(2, 4, 9), 6, 2, 5, short, **double),
        Sample(T(4, 9), 6, window=window, length=7, **double),
        Sample(T(4, 9), 6, 3, window=window, length=40, **double),
        Sample(T(4, 9), 6, window=window, center=False, normalized=True, **double),
        Sample(T(4, 9), 6, window=window, center=False, length=9, **double),
        Sample(T(6, 9), 6, window=window, onesided=False, **double),
        Sample(T(6, 9), 6, window=window, return_complex=True, **kinds),
        Sample(T(4, 9), 6, **kinds),
        Sample(T(4, 9), 6, window=single, dtypes=COMPLEX[:1]),
        Sample(T(4, 9), 6, window=T(6), error=(RuntimeError, "Complex windows are"), **kinds),
        Sample(T(4, 9), 6, error=(RuntimeError, "istft requires a complex-valued input")),
        Sample(T(4, 0), 6, error=(RuntimeError, "istft("), **kinds),
        Sample(T(5, 9), 6, error=(RuntimeError, "istft("), **kinds),
        Sample(T(5, 9), 6, onesided=False, error=(RuntimeError, "istft("), **kinds),
        Sample(T(4, 9), 6, 7, error=(RuntimeError, "istft("), **kinds),
        Sample(T(4, 9), 6, win_length=7, error=(RuntimeError, "istft("), **kinds),
        Sample(T(4, 9), 6, window=T(5), error=(RuntimeError, "istft("), **kinds),
        Sample(T(2, 2, 4, 9), 6, error=(RuntimeError, "istft("), **kinds),
        Sample(T(4, 9), 6, return_complex=True, error=(RuntimeError, _HALF_SPECTRUM), **kinds),
        Sample(
            *(T(4, 9), 6),
            window=T(values=[0.0] * 6, dtype="float64"),
            error=(RuntimeError, "istft("),
            **double,
        ),
    ]


_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros "
    "in the tail. Please check your center and hop_length settings."
)


@composite(samples=_istft_samples)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal that `stft` came from: pieces added up, divided by the windows' squares.

    >>> window = torch.hann_window(4)
    >>> spectrum = torch.stft(torch.arange(8.0), 4, window=window, return_complex=True)
    >>> torch.istft(spectrum, 4, window=window).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if not isinstance(input, Tensor):
        raise argument_type("istft", "input", 1, "Tensor", input)
    if window is None:
        warn_once(
            "A window was not provided. A rectangular window will be applied.Please provide the "
            "same window used by stft to make the inversion lossless.To suppress this warning and "
            "use a rectangular window, explicitly set "
            "`window=torch.ones(n_fft, device=<device>)`.",
            user_level(),
        )
    hop = n_fft // 4 if hop_length is None else hop_length
    width = n_fft if win_length is None else win_length
    options = {
        "n_fft": n_fft, "hop_length": hop, "win_length": width, "window": window,
        "center": center, "normalized": normalized, "onesided": onesided, "length": length,
        "return_complex": return_complex,
    }  # fmt: skip

    def invalid(what: str) -> RuntimeError:
        return _invalid("istft", input, options, what)

    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with "
            "return_complex=True."
        )
    if not input._array.size:
        raise invalid(": input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise invalid(f": expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    half = onesided
    if half is None:
        half = input.shape[-2] != n_fft
    frequencies = input.shape[-2]
    if half and n_fft // 2 + 1 != frequencies:
        raise invalid(
            ": expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft / 2 + 1 when onesided=True, but got {frequencies}"
        )
    if not half and n_fft != frequencies:
        raise invalid(
            ": expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"n_fft when onesided=False, but got {frequencies}"
        )
    if not 0 < hop <= width:
        raise invalid(": expected 0 < hop_length <= win_length")
    if not 0 < width <= n_fft:
        raise invalid(": expected 0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != width):
        raise invalid(": Invalid window shape. window has to be 1D and length of `win_length`")
    if return_complex and half:
        raise RuntimeError(_HALF_SPECTRUM)
    if not return_complex and _is_complex(window):
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    real = input.dtype.to_real()
    xp = backend_of(input._array).xp
    weights: Any = _full_window(xp, window, width, n_fft, real)
    if weights is None:
        weights = wrap(xp.ones(n_fft, real.numpy))
    spectrum = input if input.ndim == 3 else RECORDED.unsqueeze(input, 0)
    spectrum = RECORDED.transpose(spectrum, 1, 2)
    scale = 1 if normalized else 2
    if return_complex:
        pieces = RECORDED._fft_c2c(spectrum, (2,), scale, False)
    else:
        if not half:
            spectrum = RECORDED.slice(spectrum, 2, 0, n_fft // 2 + 1, 1)
        pieces = RECORDED._fft_c2r(spectrum, (2,), scale, n_fft)
    pieces = RECORDED.mul(pieces, weights)
    count = pieces.shape[1]
    total = n_fft + hop * (count - 1)
    signal = _added_up(pieces, total, hop)
    squares = RECORDED.mul(weights, weights)
    envelope = _added_up(RECORDED.expand(squares, (1, count, n_fft)), total, hop)
    start = n_fft // 2 if center else 0
    if length is not None:
        end = start + length
    else:
        end = total - n_fft // 2 if center else total
    kept = min(end, total)
    signal = RECORDED.slice(signal, 1, start, kept, 1)
    envelope = RECORDED.slice(envelope, 1, start, kept, 1)
    if not (xp.abs(envelope._elements()) > 1e-11).all():
        raise invalid("window overlap add min: 1\n[ CPUBoolType{} ]")
    result: Tensor = RECORDED.div(signal, envelope)
    if end > total:
        warnings.warn(_SHORT, UserWarning, stacklevel=user_level())
        result = RECORDED.constant_pad_nd(result, (0, end - total), 0)
    return result if input.ndim == 3 else RECORDED.squeeze(result, 0)


def _added_up(pieces: Tensor, total: int, hop: int) -> Tensor:
    """Pieces (batch, piece, element) laid over each other at distances of `hop`, and added."""
    batch, count, size = pieces.shape
    xp = backend_of(pieces._array).xp
    places = xp.arange(count)[:, None] * hop + xp.arange(size)
    flat = RECORDED.reshape(pieces, (batch, count * size))
    zeros = wrap(xp.zeros((batch, total), pieces._array.dtype))
    return RECORDED.index_add(zeros, 1, wrap(places.reshape(-1)), flat)
