"""The helpers of PyTorch's `torch._utils` that programs use: many tensors as one vector.

>>> import retrograd as torch
>>> torch._utils._flatten_dense_tensors([torch.zeros(1, 2), torch.ones(1)])
tensor([0., 0., 1.])
"""

from __future__ import annotations

from collections.abc import Iterable

from retrograd import dtypes
from retrograd.namespaces import from_table
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """All elements of tensors, one after the other; of a single tensor, its own memory."""
    parts = [tensor.contiguous().view(-1) for tensor in tensors]
    return parts[0] if len(parts) == 1 else RECORDED.cat(parts)


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Views of a vector with the sizes of tensors, one after the other."""
    views, start = [], 0
    for tensor in tensors:
        count = tensor.numel()
        views.append(flat.narrow(0, start, count).view(tensor.shape))
        start += count
    return tuple(views)


def _element_size(dtype: dtypes.dtype) -> int:
    """Bytes of one element.

    >>> torch._utils._element_size(torch.float16)
    2
    """
    size: int = dtype.itemsize
    return size


from_table(__name__)
