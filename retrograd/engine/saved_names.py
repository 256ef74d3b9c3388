"""PyTorch's names of saved values, `_saved_<name>`: those of a declaration, and what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retrograd.engine.node import Node
    from retrograd.ops.calling.plan import Save
    from retrograd.ops.registry import Op


def indices_of(node: Any, prefix: str = "_saved_") -> tuple[object, ...]:
    """The tensors of an index, each at its dimension; None (or an empty one) at the others."""
    names = ("first", "second", "third", "fourth")
    dims = node._saved_dims
    nothing = getattr(node, prefix + names[len(dims)]) if len(dims) < len(names) else None
    found: list[object] = [nothing] * (max(dims) + 1)
    for dim, name in zip(dims, names, strict=False):
        found[dim] = getattr(node, prefix + name)
    return tuple(found)


def raw_indices_of(node: Node) -> tuple[object, ...]:
    """The same as objects of saved values."""
    return indices_of(node, "_raw_saved_")


def size_of(shape: str, place: int) -> Callable[[Node], object]:
    """One size of a saved shape."""
    return lambda node: getattr(node, f"_saved_{shape}_sym_sizes")[place]


def public_names(op: Op) -> dict[str, Save]:
    """PyTorch's names of what an op's nodes save; dtypes have none there."""
    first = op.plan.parameters[0].name
    usual = {"result": "out", "self_sym_sizes": f"{first}_shape"}
    if first == "input":
        usual["self"] = first
    declared = {
        ours[0] if isinstance(ours, tuple) else ours: theirs
        for theirs, ours in {**usual, **op.saved_names}.items()
    }
    fields = getattr(op.returns, "_fields", ())
    found: dict[str, Save] = {}
    for save in op.plan.saves:
        name, kind = save.name, save.kind
        if name in declared:
            public = declared[name]
        elif kind == "dtype":
            continue
        elif kind in ("shape", "strides"):
            stem = name.rpartition("_")[0]
            stem = "self" if stem == first == "input" else stem
            public = f"{stem}_sym_{'sizes' if kind == 'shape' else 'strides'}"
        elif kind == "output" and name[3:]:
            number = save.source
            public = fields[number] if number < len(fields) else f"result{number}"
        else:
            public = name
        if public:  # what is saved only to be able to call the op again has no name there
            found[public] = save
    return found


def public_value(node: Node, name: str, kind: str, value: Any) -> object:
    """A saved option or fact in PyTorch's form: strides count elements, some `dim` are tuples."""
    if kind == "strides" and value is not None:
        dtype = node.dtype[0] if isinstance(node.dtype, list) else node.dtype
        return tuple(stride // dtype.itemsize for stride in value)
    if isinstance(value, int) and node.op and (name,) in node.op.saved_names.values():
        return (value,)
    if name == "ignore_index":
        return value % (1 << 64)  # PyTorch shows it without a sign
    return value
