"""Pickles and files of sparse tensors: their parts, which are dense tensors, in PyTorch's order."""

from __future__ import annotations

from typing import Any

from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.notices import explained
from retrograd.ops.making.construction import as_class
from retrograd.sparse.checking import ascending
from retrograd.sparse.graph import as_tensor, sparse_of
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import Size, layout, sparse_coo, sparse_csc, sparse_csr


def parts(tensor: Tensor) -> tuple[Any, ...]:
    """What a sparse tensor is rebuilt from."""
    array = sparse_of(tensor)
    size = Size(array.shape)
    if array.layout is sparse_coo:
        return wrap(array.indices), wrap(array.values), size, array.coalesced
    return wrap(array.indices[0]), wrap(array.indices[1]), wrap(array.values), size


def rebuilt(kind: layout, data: tuple[Any, ...]) -> Tensor:
    """A sparse tensor from its parts; files before PyTorch 2.1 do not say if it is coalesced."""
    if kind is sparse_coo:
        indices, values, size, *rest = data
        made = coo(indices._array, values._array, tuple(size), bool(rest and rest[0]))
        return as_tensor(made)
    if kind not in (sparse_csr, sparse_csc):
        raise explained(
            NotImplementedError(f"rebuilding sparse tensor for layout {kind}"), code="RG306"
        )
    pointers, plain, values, size = data
    indices = (pointers._array, plain._array)
    made = SparseArray(kind, indices, values._array, tuple(size), ascending(*indices))
    return as_tensor(made)


def rebuild_pickled(
    kind: type[Tensor], data: tuple[Any, ...], name: str, requires_grad: bool, attributes: Any
) -> Tensor:
    """A sparse tensor, or one of a subclass, from its pickle."""
    known = {known.name: known for known in (sparse_coo, sparse_csr, sparse_csc)}
    made = as_class(rebuilt(known[name], data), kind)
    made.requires_grad_(requires_grad)
    made.__dict__.update(attributes)
    return made


def pickled(tensor: Tensor) -> tuple[Any, ...]:
    """What `pickle` keeps of a sparse tensor."""
    arguments = (
        *(type(tensor), parts(tensor), tensor.layout.name),
        *(tensor.requires_grad, dict(tensor.__dict__)),
    )
    return rebuild_pickled, arguments
