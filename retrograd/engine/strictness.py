"""Strict mode: who keeps which memory for backward, asked before every write and every walk.

While it is on (`state.STRICT`), each new node is entered under the memory that it keeps, with a
checksum of every saved value. A write asks who keeps the memory and has not run yet. A walk first
looks for nodes that an earlier one has released, and compares each node's checksums before the node
runs: so it notices what no version counts, such as a write through a NumPy array.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple
from weakref import WeakKeyDictionary, ref

from retrograd.backend import BACKENDS, CPU, backend_of, is_array
from retrograd.backend.arrays import Array
from retrograd.engine import failures
from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.cutting import with_inner
from retrograd.engine.node import BackwardCall, Node, dressed
from retrograd.engine.packing import SavedTensor
from retrograd.engine.saved import consumer_of
from retrograd.tensor import Array as Elements
from retrograd.tensor import Tensor, VersionCell


class Kept(NamedTuple):
    """One saved value of a node that is an array in memory."""

    place: int
    name: str
    array: Array
    cell: VersionCell | None
    version: int


_keepers: dict[int, list[ref[Node]]] = {}  # by the identity of the array that owns the memory
_checksums: WeakKeyDictionary[Node, dict[int, int]] = WeakKeyDictionary()
_FIRST_SWEEP = 4096


class _Sweeping:
    """When to look for entries of nodes that are gone: whenever twice as many are there."""

    at = _FIRST_SWEEP


def forget_all() -> None:
    """Strict mode ends: nothing is kept of it."""
    _keepers.clear()
    _checksums.clear()
    _Sweeping.at = _FIRST_SWEEP


# Batch norm saves them always and reads them in evaluation only, when nobody writes them.
_UNREAD = ("running_mean", "running_var")


def kept_by(node: Node) -> Iterator[Kept]:
    """The saved values of a node that are arrays in memory, and that its rule will read."""
    for kept in _kept_by(node):
        if type(kept.array) in BACKENDS and kept.name not in _UNREAD:
            yield kept


def _kept_by(node: Node) -> Iterator[Kept]:
    op = dressed(node).op
    if op is None:
        for place, value in enumerate(node.saved):
            if type(value) is SavedTensor:
                yield from _packed(place, f"saved_tensors[{place}]", value)
        return
    for kind, name, _, place, *_ in op.plan.kept:
        value = node.saved[place]
        if type(value) is SavedTensor:
            yield from _packed(place, name, value)
        elif isinstance(value, Tensor):
            array = all_examples(value)._array
            yield Kept(place, name, array, value._cell, node.saved[place + 1])
        elif kind == "output":
            yield Kept(place, name, value, node.saved[place + 1], node.saved[place + 2])


def _packed(place: int, name: str, saved: SavedTensor) -> Iterator[Kept]:
    value = saved._value  # None where a hook has packed it: then it is the hook's business
    if value is not None:
        yield Kept(place, name, all_examples(value)._array, value._cell, saved._version)


def all_examples(tensor: Tensor) -> Tensor:
    """The tensor itself; of a batched one the tensor that has the examples' memory."""
    while tensor._level:
        tensor = tensor._physical
    return tensor


def owner_of(array: Array) -> Array:
    """The array that owns the memory, or the last one known on the way to it."""
    while is_array(array.base):
        array = array.base
    return array


def checksum(array: Array) -> int:
    """A number that changes with the elements, as good as always."""
    if backend_of(array) is not CPU:
        return 0  # not memory that NumPy could write
    if array.flags.c_contiguous:
        return zlib.crc32(array.reshape(-1).view("u1").data)  # not every dtype has a buffer
    return zlib.crc32(array.tobytes())


def note_saved(node: Node) -> None:
    """A node was made, or has saved more: enter it under the memory that it keeps."""
    sums = _checksums.setdefault(node, {})
    for kept in kept_by(node):
        if kept.place not in sums:
            sums[kept.place] = checksum(kept.array)
            _keepers.setdefault(id(owner_of(kept.array)), []).append(ref(node))
    if len(_keepers) > _Sweeping.at:
        _sweep()


def _sweep() -> None:
    for key, nodes in list(_keepers.items()):
        waiting = [node for node in nodes if (held := node()) is not None and held.freed is None]
        if waiting:
            _keepers[key] = waiting
        else:
            del _keepers[key]
    _Sweeping.at = max(_FIRST_SWEEP, 2 * len(_keepers))


def keeper_of(array: Array, cell: VersionCell | None) -> tuple[Node, Kept] | None:
    """A node that has not run yet and needs the elements of an array; None if there is none.

    It needs them if it saved an array in the same memory; also if that is another part of it, as
    long as writes to both are counted together, since backward could not tell.
    """
    if type(array) not in BACKENDS:
        return None  # a sparse one
    owner = owner_of(array)
    for entry in _keepers.get(id(owner), ()):
        node = entry()
        if node is None or node.freed is not None:
            continue
        for kept in kept_by(node):
            if owner_of(kept.array) is not owner:
                continue
            if kept.cell is not None and kept.cell.version != kept.version:
                continue  # was written before: its backward will say so
            counted_together = cell is not None and kept.cell is cell
            if counted_together or backend_of(array).xp.shares_memory(array, kept.array):
                return node, kept
    return None


def check_write(tensor: Tensor, writer: str) -> None:
    """Before a write: raise if a node that has not run yet needs what is there."""
    array = all_examples(tensor)._array
    found = keeper_of(array, tensor._cell) if _PERMITTED.writes == 0 else None
    if found is not None:
        node, kept = found
        raise failures.written_while_saved(node, kept.name, writer)


class _Permitted(threading.local):
    writes = 0


_PERMITTED = _Permitted()


@contextmanager
def permitted_writes() -> Generator[None]:
    """For those who write a saved value and put back what was there before anybody reads it."""
    _PERMITTED.writes += 1
    try:
        yield
    finally:
        _PERMITTED.writes -= 1


def handed_out(tensor: Tensor, view: Elements) -> Elements:
    """An array for the user that shares a tensor's memory: read-only where a node needs it."""
    if keeper_of(tensor._array, tensor._cell) is not None:
        view.flags.writeable = False
    return view


def check_unwalked(nodes: Iterable[Node], call: BackwardCall) -> None:
    """Before a walk: raise if it would come to a node that an earlier call has released."""
    consumed = [n for n in nodes if n.freed is not None and not is_accumulator(n)]
    if consumed:
        node = max(consumed, key=lambda n: n.sequence)
        roots = call.root_nodes
        raise failures.walked_twice(node, consumer_of(node, roots), call, roots)


def check_unchanged(node: Node) -> None:
    """Before a node runs: raise if a saved value changed although no write to it was counted."""
    for part in with_inner(node):
        sums = _checksums.get(part)
        if not sums:
            continue
        for kept in kept_by(part):
            if kept.cell is not None and kept.cell.version != kept.version:
                continue  # the node itself will say so
            if sums.get(kept.place, checksum(kept.array)) != checksum(kept.array):
                raise failures.written_unseen(part, kept.name)
