"""Discrete Fourier transforms.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.tensor import Tensor
from typing import Any

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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = ...,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor: ...
def fftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def fftshift(input: Tensor, dim: Any = None) -> Tensor: ...
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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def hfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ifftshift(input: Tensor, dim: Any = None) -> Tensor: ...
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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def ihfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def irfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
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
    s: Any = None,
    dim: Any = (-2, -1),
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = ...,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor: ...
def rfftn(
    input: Tensor,
    s: Any = None,
    dim: Any = None,
    norm: Any = None,
    *,
    out: Tensor | None = None,
) -> Tensor: ...
