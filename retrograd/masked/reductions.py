"""Masked reductions: those of `torch` over the elements that a mask lets through."""

from __future__ import annotations

from retrograd import dtypes, linalg
from retrograd.masked.masks import (
    Dims,
    canonical_dims,
    canonical_mask,
    filled,
    require_strided,
)
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor
from retrograd.tensor.size import sparse_coo, sparse_csr, strided

_DENSE = "strided tensor"
_ANY = "strided, sparse_coo or sparse_csr tensor"
_SPARSE = (sparse_coo, sparse_csr)
_SHORT = (dtypes.uint8, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32)


def _sum_dtype(input: Tensor, dtype: dtypes.dtype | None) -> dtypes.dtype:
    """The dtype of sums and products: short integers become long ones."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input.dtype in _SHORT else input.dtype


def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that `mask` lets through, 0 where there is none.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.masked.sum(x, 1, mask=torch.tensor([[True, False], [False, False]]))
    tensor([1., 0.])
    """
    kind = _sum_dtype(input, dtype)
    dims = canonical_dims(dim, input.ndim)
    require_strided("sum", _ANY, input, sparse=_SPARSE)
    return filled("sum", input, mask).sum(dims, bool(keepdim), dtype=kind)


def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that `mask` lets through, 1 where there is none.

    >>> torch.masked.prod(torch.tensor([2.0, 3.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(8.)
    """
    kind = _sum_dtype(input, dtype)
    dims = canonical_dims(dim, input.ndim)
    require_strided("prod", _ANY, input, sparse=_SPARSE)
    result = filled("prod", input, mask).to(dtype=kind)
    for place in reversed(dims):
        result = result.prod(dim=place, keepdim=bool(keepdim))
    return result


def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that `mask` lets through, -inf where there is none.

    >>> torch.masked.amax(torch.tensor([2.0, 3.0, 4.0]), mask=torch.tensor([True, True, False]))
    tensor(3.)
    """
    return _extreme("amax", input, dim, keepdim, dtype, mask)


def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest of the elements that `mask` lets through, inf where there is none.

    >>> torch.masked.amin(torch.tensor([2, 3, 4]), mask=torch.tensor([False, True, True]))
    tensor(3)
    """
    return _extreme("amin", input, dim, keepdim, dtype, mask)


def _extreme(
    name: str,
    input: Tensor,
    dim: Dims,
    keepdim: bool | None,
    dtype: dtypes.dtype | None,
    mask: Tensor | None,
) -> Tensor:
    kind = input.dtype if dtype is None else dtype
    data = filled(name, input, mask)
    dims = canonical_dims(dim, input.ndim)
    require_strided(name, _ANY, input, sparse=_SPARSE)
    found = (data.amax if name == "amax" else data.amin)(dims, bool(keepdim))
    return found.to(dtype=kind)


def _place(
    name: str,
    input: Tensor,
    dim: int | None,
    keepdim: bool | None,
    dtype: dtypes.dtype | None,
    mask: Tensor | None,
) -> Tensor:
    data = filled(name, input, mask)
    require_strided(name, _DENSE, input)
    place: Tensor = PUBLIC["torch"][name](data, dim, bool(keepdim))
    return place.to(dtype=input.dtype if dtype is None else dtype)


def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest of the elements is that `mask` lets through, in the dtype of `input`.

    >>> torch.masked.argmax(torch.tensor([2, 3, 4]), mask=torch.tensor([True, True, False]))
    tensor(1)
    """
    return _place("argmax", input, dim, keepdim, dtype, mask)


def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest of the elements is that `mask` lets through, in the dtype of `input`.

    >>> torch.masked.argmin(torch.tensor([2, 3, 4]), mask=torch.tensor([False, True, True]))
    tensor(1)
    """
    return _place("argmin", input, dim, keepdim, dtype, mask)


def _count(input: Tensor, dim: Dims, keepdim: bool | None, mask: Tensor | None) -> Tensor:
    """How many elements there are in each place of a reduction."""
    if mask is None:
        return sum(input.new_ones(input.shape, dtype=dtypes.int64), dim, keepdim=keepdim)
    return mask.sum(dim=dim, keepdim=bool(keepdim))


def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that `mask` lets through, nan where there is none.

    >>> torch.masked.mean(torch.tensor([2.0, 3.0, 4.0]), mask=torch.tensor([True, True, False]))
    tensor(2.5000)
    """
    source = "Input" if dtype is None else "Optional"
    kind = input.dtype if dtype is None else dtype
    if not (kind.is_floating_point or kind.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point "
            f"or complex dtype. Got: {kind}"
        )
    require_strided("mean", "strided or sparse_csr tensor", input, sparse=(sparse_csr,))
    fits = None if mask is None else canonical_mask(input, mask)
    count = _count(input, dim, keepdim, fits)
    return sum(input, dim, keepdim=keepdim, dtype=kind, mask=fits) / count


def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The median of the elements that `mask` lets through, nan where there is none.

    >>> torch.masked.median(torch.tensor([2.0, 9.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(2.)
    """
    kind = input.dtype if dtype is None else dtype
    place = canonical_dims(dim, input.ndim)[0]
    is_float = input.is_floating_point()
    if not is_float:
        input = input.to(dtype=dtypes.float32)
    data = filled("median", input, mask)
    require_strided("median", _DENSE, input)
    result: Tensor = data.nanmedian(place, keepdim).values
    if is_float:
        return result
    if result.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return result.to(dtype=kind)


def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithm of the sum of exponentials of the elements that `mask` lets through.

    >>> torch.masked.logsumexp(torch.zeros(3), mask=torch.tensor([True, False, False]))
    tensor(0.)
    """
    kind = input.dtype if dtype is None else dtype
    dims = canonical_dims(dim, input.ndim)
    data = filled("logsumexp", input, mask)
    require_strided("logsumexp", _DENSE, input)
    return data.logsumexp(dims, keepdim=keepdim).to(dtype=kind)


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dtypes.dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))`` of the elements that their masks let through.

    >>> torch.masked.logaddexp(torch.zeros(1), torch.zeros(1), other_mask=torch.tensor([False]))
    tensor([0.])
    """
    kind = input.dtype if dtype is None else dtype
    if input.layout is not strided or other.layout is not strided:
        raise ValueError(
            f"masked logaddexp expects strided tensors (got {input.layout} tensor for input, "
            f"{other.layout} for other)"
        )
    data = filled("logaddexp", input, input_mask)
    return data.logaddexp(filled("logaddexp", other, other_mask)).to(dtype=kind)


def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the elements that `mask` lets through.

    >>> torch.masked.norm(torch.tensor([3.0, 4.0, 9.0]), mask=torch.tensor([True, True, False]))
    tensor(5.)
    """
    kind = input.dtype if dtype is None else dtype
    data = filled("norm", input, mask, ord)
    require_strided("norm", _DENSE, input)
    dims = canonical_dims(dim, input.ndim)
    found: Tensor = linalg.vector_norm(data, ord, dims, bool(keepdim), dtype=kind)
    return found


def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that `mask` lets through, nan where there are too few.

    >>> torch.masked.var(torch.tensor([1.0, 3.0, 9.0]), mask=torch.tensor([True, True, False]))
    tensor(2.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, root=False)


def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation of the elements that `mask` lets through.

    >>> x = torch.tensor([1.0, 3.0, 9.0])
    >>> torch.masked.std(x, unbiased=False, mask=x < 9)
    tensor(1.)
    """
    return _variance(input, dim, unbiased, correction, keepdim, dtype, mask, root=True)


def _variance(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool | None,
    dtype: dtypes.dtype | None,
    mask: Tensor | None,
    root: bool,
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    kind = input.dtype if dtype is None else dtype
    if dtype is None and not (kind.is_floating_point or kind.is_complex):
        kind = dtypes.float32
    compute = kind if kind.is_floating_point or kind.is_complex else dtypes.float32
    if input.layout is not strided:
        raise ValueError(f"masked std/var expects strided tensor (got {input.layout} tensor)")
    fits = None if mask is None else canonical_mask(input, mask)
    count = _count(input, dim, True, fits)
    centre = sum(input, dim, keepdim=True, dtype=kind, mask=fits) / count
    apart = input - centre
    total = sum(apart * apart.conj(), dim, keepdim=keepdim, dtype=compute, mask=fits)
    if not keepdim:
        count = count.reshape(total.shape)
    if float(correction) != 0:
        count = count.to(compute.to_real() if compute.is_complex else compute) - float(correction)
        count = count.maximum(count.new_zeros(()))
    result = (total / count).to(dtype=kind)
    return result.sqrt() if root else result
