"""Masked functions that keep the shape: softmax and its relatives, running sums and products."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.masked.masks import canonical_dims, filled, require_strided
from retrograd.masked.reductions import norm
from retrograd.nn import functional
from retrograd.tensor import Tensor

_DENSE = "strided tensor"


def cumsum(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Running sums of the elements that `mask` lets through.

    >>> x = torch.tensor([1.0, 2.0, 3.0])
    >>> torch.masked.cumsum(x, 0, mask=torch.tensor([True, False, True]))
    tensor([1., 1., 4.])
    """
    data, kind, place = _prepared("cumsum", "sum", input, dim, dtype, mask)
    return data.cumsum(place, dtype=kind).to(dtype=kind)


def cumprod(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """Running products of the elements that `mask` lets through.

    >>> x = torch.tensor([2.0, 9.0, 3.0])
    >>> torch.masked.cumprod(x, 0, mask=torch.tensor([True, False, True]))
    tensor([2., 2., 6.])
    """
    data, kind, place = _prepared("cumprod", "prod", input, dim, dtype, mask)
    return data.cumprod(place, dtype=kind).to(dtype=kind)


def softmax(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmax` over the elements that `mask` lets through; nan where there is none.

    >>> torch.masked.softmax(torch.zeros(3), 0, mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    data, kind, place = _prepared("softmax", "amax", input, dim, dtype, mask)
    found: Tensor = functional.softmax(data, place, dtype=kind)
    return found


def log_softmax(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """`log_softmax` over the elements that `mask` lets through.

    >>> torch.masked.log_softmax(torch.zeros(3), 0, mask=torch.tensor([True, True, False]))
    tensor([-0.6931, -0.6931,    -inf])
    """
    data, kind, place = _prepared("log_softmax", "amax", input, dim, dtype, mask)
    found: Tensor = functional.log_softmax(data, place, dtype=kind)
    return found


def softmin(
    input: Tensor, dim: int, *, dtype: dtypes.dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """`softmin` over the elements that `mask` lets through.

    >>> torch.masked.softmin(torch.zeros(3), 0, mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    data, kind, place = _prepared("softmin", "amin", input, dim, dtype, mask)
    found: Tensor = functional.softmin(data, place, dtype=kind)
    return found


def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: dtypes.dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that `mask` lets through, divided by their norm; zeros elsewhere.

    >>> x = torch.tensor([3.0, 4.0, 9.0])
    >>> torch.masked.normalize(x, 2, 0, mask=x < 9)
    tensor([0.6000, 0.8000, 0.0000])
    """
    kind = input.dtype if dtype is None else dtype
    data = filled("sum", input, mask)
    require_strided("normalize", _DENSE, input)
    length = norm(input, ord, dim, keepdim=True, dtype=kind, mask=mask)
    return data / length.maximum(length.new_full((), eps))


def _prepared(
    name: str,
    reduction: str,
    input: Tensor,
    dim: int,
    dtype: dtypes.dtype | None,
    mask: Tensor | None,
) -> tuple[Tensor, dtypes.dtype, int]:
    """The filled input, the dtype of the result, and the dimension counted from the front."""
    kind = input.dtype if dtype is None else dtype
    place = canonical_dims(dim, input.ndim)[0]
    data = filled(reduction, input, mask)
    require_strided(name, _DENSE, input)
    return data, kind, place
