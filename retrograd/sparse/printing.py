"""How sparse tensors print: their indices, their values, and the facts."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.sparse.graph import names_of, sparse_of
from retrograd.tensor import Array, Tensor
from retrograd.tensor.size import sparse_coo
from retrograd.tensors import printing


def _part(name: str, array: Array, indent: int) -> str:
    """``name=tensor(...)``, its lines under one another; an empty one says its size."""
    head = f"{name}=tensor("
    options = printing._options
    column = indent + len(head)
    if not array.size:
        return head + f"[], size={tuple(array.shape)})"
    return head + printing._format_body(array, column, options) + ")"


def text_of(tensor: Tensor, prefix: str) -> str:
    """The text of a sparse tensor."""
    array = sparse_of(tensor)
    indent = len(prefix)
    suffixes = [f"size={tuple(array.shape)}", f"nnz={array.nnz}"]
    plain = (dtypes.get_default_dtype().name, dtypes.default_complex().name, "int64", "bool")
    if tensor.dtype.name not in plain:
        suffixes.append(f"dtype={tensor.dtype!r}")
    by_coordinates = array.layout is sparse_coo
    if by_coordinates:
        text = prefix + _part("indices", array.indices, indent)
        separator = ",\n" + " " * indent
        text += separator + _part("values", array.values, indent) + separator
    else:
        starts, others = names_of(array.layout)
        text = prefix + _part(starts, array.indices[0], indent)
        separator = ",\n" + " " * indent
        text += separator + _part(others, array.indices[1], indent)
        text += separator + _part("values", array.values, indent)
    suffixes.append(f"layout={array.layout!r}")
    if tensor.requires_grad:
        node = tensor.grad_fn
        suffixes.append(
            "requires_grad=True" if node is None else f"grad_fn=<{type(node).__name__}>"
        )
    if by_coordinates:
        return text + _joined(suffixes, indent)
    return printing._add_suffixes(text, suffixes, 0, indent, printing._options.linewidth)


def _joined(suffixes: list[str], indent: int) -> str:
    """Suffixes on lines of their own, as many on each as fit."""
    width = printing._options.linewidth
    text, used = suffixes[0], indent + len(suffixes[0])
    for suffix in suffixes[1:]:
        if used + len(suffix) + 2 > width:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text + ")"
