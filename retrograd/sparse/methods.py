"""What sparse tensors can be asked: methods of `Tensor`, for every layout.

`to_dense`, `to_sparse` and their relatives are here; arithmetic comes through the ops' own methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from retrograd.dtypes import dtype
from retrograd.notices import runtime_error
from retrograd.ops import errors
from retrograd.sparse import construction
from retrograd.sparse.graph import is_sparse, missing, refuse_strided, sparse_of
from retrograd.sparse.later import Later
from retrograd.tensor import Tensor, tensor_method, tensor_property, wrap
from retrograd.tensor.size import layout, sparse_coo, sparse_csc, sparse_csr, strided

if TYPE_CHECKING:
    from retrograd.engine.sparse_array import SparseArray
    from retrograd.sparse import conversions
else:
    conversions = Later("conversions")


@tensor_method
def to_dense(
    self: Tensor, dtype: dtype | None = None, *, masked_grad: bool | None = None
) -> Tensor:
    """The tensor with all elements, in the strided layout.

    >>> torch.sparse_coo_tensor([[1]], [5.0], (2,)).to_dense()
    tensor([0., 5.])
    """
    return conversions.to_dense(self, dtype, masked_grad)


@tensor_method
def to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: layout | None = None,
    blocksize: Sequence[int] | None = None,
    dense_dim: int | None = None,
) -> Tensor:
    """The entries that are not zero, by coordinates (or in another sparse layout).

    >>> torch.tensor([0.0, 5.0]).to_sparse()
    tensor(indices=tensor([[1]]),
           values=tensor([5.]),
           size=(2,), nnz=1, layout=torch.sparse_coo)
    """
    if blocksize is not None:
        raise errors.unsupported("to_sparse(blocksize=...): block layouts")
    if layout is None or layout is sparse_coo:
        return conversions.to_sparse(self, sparse_dim)
    if layout is sparse_csr or layout is sparse_csc:
        return conversions.to_compressed(self, layout, dense_dim)
    if layout is strided:
        raise runtime_error(
            "to_sparse: conversion from Strided to Strided is not supported", code="RG306"
        )
    raise errors.unsupported(f"to_sparse(layout={layout!r})")


@tensor_method
def to_sparse_coo(self: Tensor) -> Tensor:
    """The entries that are not zero, by coordinates."""
    return conversions.to_sparse(self)


@tensor_method
def to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The entries that are not zero, compressed by rows.

    >>> torch.eye(2).to_sparse_csr()
    tensor(crow_indices=tensor([0, 1, 2]),
           col_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csr)
    """
    return conversions.to_csr(self, dense_dim)


@tensor_method
def to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """The entries that are not zero, compressed by columns.

    >>> torch.eye(2).to_sparse_csc()
    tensor(ccol_indices=tensor([0, 1, 2]),
           row_indices=tensor([0, 1]),
           values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=torch.sparse_csc)
    """
    return conversions.to_compressed(self, sparse_csc, dense_dim)


def _refuse_layout(name: str) -> Any:
    def refuse(self: Tensor, *args: object, **options: object) -> Tensor:
        raise errors.unsupported(
            f"Tensor.{name}: of the compressed layouts there are torch.sparse_csr and "
            "torch.sparse_csc"
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise: this layout does not exist here."
    return refuse


for _name in ("to_sparse_bsr", "to_sparse_bsc"):
    tensor_method(_refuse_layout(_name))


@tensor_method
def coalesce(self: Tensor) -> Tensor:
    """Entries in the order of their places, and those that share one summed.

    >>> torch.sparse_coo_tensor([[1, 1]], [2.0, 3.0], (2,)).coalesce().values()
    tensor([5.])
    """
    return conversions.coalesce(self)


@tensor_method
def is_coalesced(self: Tensor) -> bool:
    """Whether the entries are in order and no two share a place."""
    refuse_strided("is_coalesced", self, "coo")
    return sparse_of(self).coalesced


@tensor_method
def _coalesced_(self: Tensor, coalesced: bool) -> Tensor:
    refuse_strided("_coalesced_", self, "coo")
    sparse_of(self).coalesced = bool(coalesced)
    return self


@tensor_method
def indices(self: Tensor) -> Tensor:
    """The places of the entries of a coalesced tensor, one column each."""
    return conversions.indices(self)


@tensor_method
def values(self: Tensor) -> Tensor:
    """The values of the entries; of a coalesced tensor, if it is by coordinates."""
    return conversions.values(self)


def _coo(self: Tensor, name: str) -> SparseArray:
    if self.layout is not sparse_coo:
        raise missing(name, self)
    return sparse_of(self)


@tensor_method
def _indices(self: Tensor) -> Tensor:
    """The places of the entries as they are stored."""
    return wrap(_coo(self, "_indices").indices)


@tensor_method
def _values(self: Tensor) -> Tensor:
    """The values of the entries as they are stored, without history."""
    return wrap(_coo(self, "_values").values)


@tensor_method
def _nnz(self: Tensor) -> int:
    """How many entries are stored."""
    if not is_sparse(self):
        raise missing("_nnz", self)
    return sparse_of(self).nnz


@tensor_method
def _dimV(self: Tensor) -> int:
    return int(_coo(self, "_dimV").dense_dim)


@tensor_method
def _dimI(self: Tensor) -> int:
    return int(_coo(self, "_dimI").sparse_dim)


@tensor_method
def crow_indices(self: Tensor) -> Tensor:
    """Where the entries of each row begin, in a tensor compressed by rows."""
    refuse_strided("crow_indices", self, "csr")
    return wrap(sparse_of(self).indices[0])


@tensor_method
def col_indices(self: Tensor) -> Tensor:
    """The columns of the entries of a tensor compressed by rows."""
    refuse_strided("col_indices", self, "csr")
    return wrap(sparse_of(self).indices[1])


@tensor_method
def ccol_indices(self: Tensor) -> Tensor:
    """Where the entries of each column begin, in a tensor compressed by columns."""
    refuse_strided("ccol_indices", self, "csc")
    return wrap(sparse_of(self).indices[0])


@tensor_method
def row_indices(self: Tensor) -> Tensor:
    """The rows of the entries of a tensor compressed by columns."""
    refuse_strided("row_indices", self, "csc")
    return wrap(sparse_of(self).indices[1])


@tensor_method
def sparse_dim(self: Tensor) -> int:
    """How many dimensions are sparse; none of a strided tensor."""
    return sparse_of(self).sparse_dim if is_sparse(self) else 0


@tensor_method
def dense_dim(self: Tensor) -> int:
    """How many dimensions each value has; all of a strided tensor's."""
    return sparse_of(self).dense_dim if is_sparse(self) else self._array.ndim


@tensor_method
def sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """The elements at the places where a sparse tensor has entries.

    >>> mask = torch.sparse_coo_tensor([[1]], [1.0], (3,))
    >>> torch.tensor([1.0, 2.0, 3.0]).sparse_mask(mask).to_dense()
    tensor([0., 2., 0.])
    """
    return conversions.sparse_mask(self, mask)


@tensor_method
def sparse_resize_(self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int) -> Tensor:
    """Another size for the entries there are; dimensions may only grow."""
    refuse_strided("sparse_resize_", self, "coo")
    return construction.resized(self, size, sparse_dim, dense_dim, False)


@tensor_method
def sparse_resize_and_clear_(
    self: Tensor, size: Sequence[int], sparse_dim: int, dense_dim: int
) -> Tensor:
    """Another size, and no entries."""
    refuse_strided("sparse_resize_and_clear_", self, "coo")
    return construction.resized(self, size, sparse_dim, dense_dim, True)


@tensor_property
def is_sparse_csr(self: Tensor) -> bool:
    """Whether the layout is `torch.sparse_csr`."""
    return self.layout is sparse_csr


def _is_sparse(self: Tensor) -> bool:
    """Whether the layout is `torch.sparse_coo`."""
    return self.layout is sparse_coo


def _layout(self: Tensor) -> layout:
    """How the elements are laid out: `torch.strided`, or one of the sparse layouts."""
    array: Any = self._array
    return array.layout if is_sparse(self) else strided


Tensor.is_sparse = property(_is_sparse)  # type: ignore[assignment]
Tensor.layout = property(_layout)  # type: ignore[assignment]
