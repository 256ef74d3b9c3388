"""Discrete Fourier transforms.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Sequence
from retrograd.dtypes import dtype
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device
from retrograd.tensor.size import layout

def fft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor: ...
def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor: ...
def hfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def hfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor: ...
def ihfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ihfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfft(
    input: Tensor,
    n: int | None = None,
    dim: int = -1,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = ...,
    device: Device = None,
    requires_grad: bool = False,
) -> Tensor: ...
def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
