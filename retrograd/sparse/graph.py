"""How sparse functions become part of the graph, and what they refuse.

Each is an `autograd.Function` with the name of PyTorch's node: its forward computes on arrays, its
backward calls functions on tensors, so that gradients can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard, TypeVar

from retrograd.autograd.function import Function, call_function
from retrograd.engine.sparse_array import SPARSE_ARRAY, SparseArray
from retrograd.engine.state import TRANSFORMS
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import layout, sparse_coo, sparse_csr, strided

_C = TypeVar("_C", bound=type[Function])


def node(name: str) -> Callable[[_C], _C]:
    """Give the nodes of a Function PyTorch's name."""

    def decorate(function: _C) -> _C:
        function._backward_cls.__name__ = function._backward_cls.__qualname__ = name
        return function

    return decorate


def apply(function: type[Function], *arguments: object) -> Tensor:
    """Run a Function and record it; forward mode does not go through sparse tensors."""
    if TRANSFORMS.dual_levels:
        tensors = [x for x in arguments if isinstance(x, Tensor)]
        if TRANSFORMS.has_tangents(tensors):
            name = function._backward_cls.__name__.partition("Backward")[0]
            snake = "".join("_" + x.lower() if x.isupper() else x for x in name)
            raise explained(
                NotImplementedError(
                    f"Trying to use forward AD with {snake} that does not support it because it "
                    "has not been implemented yet."
                ),
                code="RG612",
            )
    found: Tensor = call_function(function, arguments, False)
    return found


def sparse_of(tensor: Tensor) -> SparseArray:
    """The sparse array of a tensor that is known to be sparse."""
    array: Any = tensor._array
    assert isinstance(array, SparseArray)
    return array


def is_sparse(tensor: object) -> TypeGuard[Tensor]:
    """Whether something is a sparse tensor, of any layout."""
    return isinstance(tensor, Tensor) and type(tensor._array) is SPARSE_ARRAY


def as_tensor(array: SparseArray) -> Tensor:
    """A plain tensor of a sparse layout."""
    made: Any = array
    return wrap(made)


# ----------------------------------------------------------------------------------------- errors

_LAYOUTS = {
    "strided": "Strided",
    "sparse_coo": "Sparse",
    "sparse_csr": "SparseCsr",
    "sparse_csc": "SparseCsc",
}


def names_of(kind: layout) -> tuple[str, str]:
    """What the two kinds of indices of a compressed layout are called."""
    if kind is sparse_csr:
        return "crow_indices", "col_indices"
    return "ccol_indices", "row_indices"


def layout_name(tensor: Tensor) -> str:
    """The name of a tensor's layout in PyTorch's messages."""
    return _LAYOUTS[tensor.layout.name]


def missing(name: str, tensor: Tensor) -> Exception:
    """The error for an op that a layout does not have."""
    backend = {sparse_coo: "SparseCPU", strided: "CPU"}.get(tensor.layout, "SparseCsrCPU")
    return explained(
        NotImplementedError(
            f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could "
            "be because the operator doesn't exist for this backend, or was omitted during the "
            f"selective/custom build process (if using custom build). 'aten::{name}' is not "
            f"available here for tensors of layout {tensor.layout!r}; to_dense() gives one of "
            "layout torch.strided."
        ),
        code="RG306",
    )


def refuse_strided(name: str, tensor: Tensor, kind: str) -> None:
    """Raise unless a tensor has the layout that a function is about."""
    wanted = {
        "coo": ("sparse coordinate tensor layout", "sparse_coo"),
        "csr": ("sparse row compressed tensor layout", "sparse_csr"),
        "csc": ("sparse column compressed tensor layout", "sparse_csc"),
    }
    text, layout = wanted[kind]
    if tensor.layout.name != layout:
        raise runtime_error(f"{name} expected {text} but got {layout_name(tensor)}", code="RG306")
