"""Kernels in the place of those that look at elements although their shapes follow without.

By the names of the ops. What is not here and looks at elements is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backend.device import Backend
from retrograd.backend.meta.arrays import MetaArray, like, new
from retrograd.backend.meta.elementwise import applied, together
from retrograd.backend.meta.errors import no_kernel
from retrograd.backend.neutral.arrangement import arranged
from retrograd.backend.neutral.convolution import (
    convolution_output_shape,
    transposed_output_shape,
)

_I32 = np.dtype(np.int32)
_F64 = np.dtype(np.float64)
_MEAN_OR_SUM = (1, 2)  # the codes of reductions

Sizes = tuple[int, ...]
KERNELS: dict[str, Callable[..., Any]] = {}


def _kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    KERNELS[function.__name__] = function
    return function


def _of_degree(xp: Any, input: Any, n: Any) -> Any:
    return applied(np.add, [input, n])


for _name in """
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
    shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v
    shifted_chebyshev_polynomial_w hermite_polynomial_h hermite_polynomial_he laguerre_polynomial_l
    legendre_polynomial_p
""".split():
    KERNELS[_name] = _of_degree


@_kernel
def histc(xp: Any, input: MetaArray, bins: int = 100, min: float = 0, max: float = 0) -> MetaArray:
    return new((bins,), input.dtype)


def _median(xp: Any, input: MetaArray) -> MetaArray:
    return new((), input.dtype)


KERNELS["_median_all"] = KERNELS["_nanmedian_all"] = _median


@_kernel
def masked_scatter(xp: Any, input: MetaArray, mask: MetaArray, source: MetaArray) -> MetaArray:
    return new(together([input, mask])[0], input.dtype)


@_kernel
def _index_fill_tensor(
    xp: Any, input: MetaArray, dim: int, index: MetaArray, value: MetaArray
) -> MetaArray:
    return like(input, input.dtype)


@_kernel
def _distinct(xp: Any, index: MetaArray, size: int) -> MetaArray:
    """What a rule sums over: how many there are shows nowhere."""
    return new(index.shape or (1,), index.dtype)


@_kernel
def bincount(xp: Any, input: MetaArray, weights: Any = None, minlength: int = 0) -> MetaArray:
    raise no_kernel("bincount")


# ----------------------------------------------------------------------------- linear algebra


@_kernel
def linalg_lu(xp: Any, input: MetaArray) -> tuple[MetaArray, ...]:
    *batch, rows, columns = input.shape
    least = min(rows, columns)
    return (
        new((*batch, rows, rows), input.dtype),
        new((*batch, rows, least), input.dtype),
        new((*batch, least, columns), input.dtype),
    )


@_kernel
def lu_unpack(
    xp: Any,
    LU_data: MetaArray,
    LU_pivots: MetaArray,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[MetaArray, ...]:
    found = linalg_lu(xp, LU_data)
    nothing = new((0,), LU_data.dtype)
    return (
        found[0] if unpack_pivots else nothing,
        *(found[1:] if unpack_data else (nothing, nothing)),
    )


@_kernel
def linalg_ldl_factor_ex(xp: Any, input: MetaArray, hermitian: bool) -> tuple[MetaArray, ...]:
    return (
        like(input, input.dtype),
        new(input.shape[:-1], _I32),
        new(input.shape[:-2], _I32),
    )


@_kernel
def linalg_ldl_solve(
    xp: Any, LD: MetaArray, pivots: MetaArray, B: MetaArray, hermitian: bool
) -> MetaArray:
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    return new((*batch, *B.shape[-2:]), B.dtype)


@_kernel
def linalg_matrix_exp(xp: Any, input: MetaArray) -> MetaArray:
    return like(input, input.dtype)


# -------------------------------------------------------------------------------- convolution
#
# The neutral kernels go over blocks of the input: as many as it has elements.


@_kernel
def convolution(
    xp: Any,
    input: MetaArray,
    weight: MetaArray,
    bias: MetaArray | None,
    stride: Sizes,
    padding: Sizes,
    dilation: Sizes,
    transposed: bool,
    output_padding: Sizes,
    groups: int,
) -> Any:
    lengths = input.shape, weight.shape, stride, padding
    if transposed:
        shape = transposed_output_shape(*lengths, output_padding, dilation, groups)
    else:
        shape = convolution_output_shape(*lengths, dilation)
    result: Any = new(shape, input.dtype)
    if len(stride) == 3 and input.dtype == _F64:
        return result
    operands: Any = (input, weight)
    return arranged(xp, result, *operands)


@_kernel
def _convolution_at(
    xp: Any, input: MetaArray, weight: MetaArray, windows: Sizes, *options: Any
) -> MetaArray:
    return new((input.shape[0], weight.shape[0], *windows), input.dtype)


@_kernel
def _convolution_input_gradient(
    xp: Any, gradient: MetaArray, weight: MetaArray, input_shape: Sizes, *options: Any
) -> MetaArray:
    return new(input_shape, gradient.dtype)


@_kernel
def _convolution_weight_gradient(
    xp: Any, gradient: MetaArray, input: MetaArray, weight_shape: Sizes, *options: Any
) -> MetaArray:
    return new(weight_shape, gradient.dtype)


# ------------------------------------------------------------------------------------- losses


def _loss(
    xp: Any, input: MetaArray, target: MetaArray, weight: Any, reduction: int, ignore_index: int
) -> MetaArray:
    return new(() if reduction in _MEAN_OR_SUM else target.shape, input.dtype)


def _slopes(
    xp: Any, grad: MetaArray, input: MetaArray, target: MetaArray, weight: Any, reduction: int,
    ignore_index: int,
) -> MetaArray:  # fmt: skip
    return new(input.shape, grad.dtype)


for _name in ("_nll_loss", "_nll_loss2d"):
    KERNELS[_name] = _loss
    KERNELS[f"{_name}_gradient"] = _slopes


def install(backend: Backend) -> None:
    """Put the kernels in their places."""
    for name, kernel in KERNELS.items():
        backend.override(name)(kernel)
