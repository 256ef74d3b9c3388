"""The same program on PyTorch and on retrograd, and everything that can be seen of its results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import retrograd


def describe(value: Any, digits: int = 5) -> Any:
    """A result as plain data: layout, places, values, node, flags."""
    if isinstance(value, (tuple, list)):
        return [describe(part, digits) for part in value]
    if not hasattr(value, "layout"):
        return repr(value)
    node = None if value.grad_fn is None else value.grad_fn.name()
    facts = [str(value.layout), tuple(value.shape), str(value.dtype), node, value.requires_grad]
    if str(value.layout) == "torch.strided":
        return [*facts, _numbers(value, digits)]
    if str(value.layout) == "torch.sparse_coo":
        places = value._indices().tolist()
        flags = (value.is_coalesced(), value.sparse_dim(), value.dense_dim(), value._nnz())
        return [*facts, flags, places, _numbers(value._values(), digits)]
    by_rows = str(value.layout) == "torch.sparse_csr"
    pointers = value.crow_indices() if by_rows else value.ccol_indices()
    plain = value.col_indices() if by_rows else value.row_indices()
    return [*facts, pointers.tolist(), plain.tolist(), _numbers(value.values(), digits)]


def _numbers(tensor: Any, digits: int) -> list[Any]:
    return [
        round(x, digits) if isinstance(x, float) else x
        for x in tensor.detach().reshape(-1).tolist()
    ]


def outcome(program: Callable[[Any], Any], library: Any) -> Any:
    """What a program gives in a library: its results, or its error's type and first line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return describe(program(library))
        except Exception as error:
            first = str(error).split("\n")[0].split(" with arguments from the ")[0]
            kind = next(
                base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"
            )
            return [kind, first]


def both(program: Callable[[Any], Any], torch: Any) -> tuple[Any, Any]:
    """The outcomes in PyTorch and here."""
    return outcome(program, torch), outcome(program, retrograd)
