"""Saved values: how a node's save list is read back, checked and shown.

`op.plan.saves` says what lies where in a node's `saved` tuple. Inputs are kept as the Tensor
itself, so its identity survives; outputs as array and cell, since a node that kept its output
Tensor would keep itself alive.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd.backend import BACKENDS, xp_of
from retrograd.backend.arrays import Array
from retrograd.dtypes import COMPLEX_TYPES
from retrograd.engine import failures
from retrograd.engine.node import FREED, Node, dressed, forward_name
from retrograd.engine.saved_names import public_names, public_value
from retrograd.engine.state import STATE
from retrograd.tensor import Tensor, VersionCell, wrap

if TYPE_CHECKING:
    from retrograd.ops.calling.plan import Save
    from retrograd.ops.registry import Op


def freed_failure(node: Node | None) -> Exception:
    """The error for reading a value that a backward call released; finds who led there."""
    call = STATE.call
    if node is None:
        return failures.freed_alone()
    if call is None:
        return failures.freed(node, None, None, ())
    roots = call.root_nodes
    return failures.freed(node, consumer_of(node, roots), call, roots)


def consumer_of(node: Node, roots: tuple[Node, ...]) -> Node | None:
    """The oldest node behind the roots with an edge to `node`: the last one to run before it."""
    found: Node | None = None
    seen = set(roots)
    stack = list(roots)
    while stack:
        current = stack.pop()
        for target in current.edges:
            if target is node and (found is None or current.sequence < found.sequence):
                found = current
            if target is not None and target not in seen:
                seen.add(target)
                stack.append(target)
    return found


def stale_value(
    node: Node,
    name: str,
    value: Array | Tensor,
    cell: VersionCell | None,
    seen: int,
    producer: str | None = None,
) -> None:
    """Called when a saved value's version moved: raise, unless it was a false alarm."""
    if cell is None:
        return
    if cell.version != seen:
        if producer is None:
            producer = producer_of(node, name, value)
        raise failures.modified(node, name, value, producer, cell, seen)
    if producer is not None:
        return  # an output: its history is the node's business
    if isinstance(value, Tensor) and value._grad_fn is None and cell.detached > node.sequence:
        raise failures.detached_in_place(node)


def producer_of(node: Node, name: str, value: object) -> str:
    """The ", which is output 0 of Mul," part of the message; empty for leaves.

    PyTorch gives the number for outputs that their own node saved; of inputs it always says 0.
    """
    if not isinstance(value, Tensor):
        return output_producer(node, int(name[3:] or 0))
    if value._view is not None:
        from retrograd.engine.views import renew

        renew(value)  # which may raise instead: some views cannot follow a write to their base
    maker = value._grad_fn
    if maker is None:
        return ""
    return f", which is output 0 of {forward_name(maker)},"


def output_producer(node: Node, number: int) -> str:
    """The same for a value that its node saved without history: one of the node's outputs."""
    op = dressed(node).op
    if op is not None and number in op.nondifferentiable:
        return ""
    extra = node.extra
    maker = node
    if extra is not None and extra.output_node is not None:
        maker = extra.output_node() or node
    return f", which is output {number} of {forward_name(maker)},"


def saved_output(node: Node, stored: Array | Tensor, cell: VersionCell, number: int) -> Tensor:
    """A saved output as a Tensor again, with the node it came from as its history."""
    if isinstance(stored, Tensor):  # unpacked by `engine.packing`, history and all
        return stored
    tensor = wrap(stored)
    tensor._cell = cell
    return with_history(node, tensor, number)


def with_history(node: Node, tensor: Tensor, number: int) -> Tensor:
    """Make a bare tensor the output of a node that its node saved."""
    op = dressed(node).op
    if op is not None and number in op.nondifferentiable:
        return tensor
    maker = node
    extra = node.extra
    if extra is not None and extra.output_node is not None:
        # A view that was written: its new history, or the writing node's own where nobody has
        # the view any more (`x[1:].exp_()`). Both lead to the values before the write.
        maker = extra.output_node() or node
    tensor._grad_fn = maker
    tensor._output_nr = number if maker is node else 0
    tensor._requires_grad = True
    return tensor


def conjugate_all(values: Any) -> Any:
    """Conjugates of complex entries (arrays or Tensors), None and real ones as they are."""
    if isinstance(values, (tuple, list)):
        return type(values)(conjugate_all(value) for value in values)
    if isinstance(values, Tensor):
        return values.conj() if values._array.dtype in COMPLEX_TYPES else values
    if type(values) in BACKENDS or isinstance(values, np.generic):
        complex_values = values.dtype in COMPLEX_TYPES
        return xp_of(values).conjugate(values) if complex_values else values
    return values


def saved_properties(op: Op) -> dict[str, property]:
    """`_saved_<name>` of an op's nodes under PyTorch's names: `self` is the first input."""
    names = public_names(op)
    readers = {f"_saved_{name}": property(_reader(op, save)) for name, save in names.items()}
    for name, save in names.items():
        if save.kind in ("input", "output"):
            readers[f"_raw_saved_{name}"] = property(_raw_reader(op, name, save.start))
    for name, reader in op.saved_names.items():
        if callable(reader):
            readers[name if name.startswith("_") else f"_saved_{name}"] = property(reader)
    return readers


def _raw_reader(op: Op, name: str, place: int) -> Callable[[Node], object]:
    from retrograd.engine.packing import SavedTensor, pack_node

    def read(node: Node) -> object:
        pack_node(node)
        value = node.saved[place]
        if isinstance(value, SavedTensor):
            return value
        if isinstance(value, (bool, int, float, complex)):
            if "saved" not in op.numbers:
                raise AttributeError(
                    f"'{op.node_name}' object has no attribute '_raw_saved_{name}'"
                )
            return SavedTensor(_as_tensor(value), node, is_output=False, number=0)
        empty = SavedTensor(None, node, is_output=False, number=0)
        empty._released = value is FREED
        return empty

    return read


def _reader(op: Op, save: Save) -> Callable[[Node], object]:
    from retrograd.engine import packing  # which imports this module

    kind, name, source, place = save[:4]
    wraps = kind == "input" and "saved" in op.numbers

    def read(node: Node) -> object:
        value = node.saved[place]
        if value is FREED:
            raise failures.freed(node, None, None, ())
        if type(value) is packing.SavedTensor:
            return value.unpack(node)
        if kind == "output":
            cell, seen = node.saved[place + 1], node.saved[place + 2]
            stale_value(node, name, value, cell, seen)
            return saved_output(node, value, cell, source)
        if kind == "input" and isinstance(value, Tensor):
            cell, seen = value._cell, node.saved[place + 1]
            if cell is not None and cell.version != seen:  # one that was detached may be read
                stale_value(node, name, value, cell, seen)
        elif wraps and value is not None:
            return _as_tensor(value)
        return public_value(node, name, kind, value)

    return read


def _as_tensor(number: complex) -> Tensor:
    return wrap(np.asarray(number))
