"""Autograd nodes of PyTorch (or retrograd), looked at without changing them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from retrograd.watching.lines import LEAF
from retrograd.watching.torch_types import TensorLike

TWICE = "Trying to backward through the graph a second time"
INPLACE = "modified by an inplace operation"

Node = Any
Ranges = list[list[int]]

MOST_NODES = 300_000


def walk(roots: Iterable[Node | None], limit: int = MOST_NODES) -> dict[Node, int]:
    """The nodes that can be reached from the roots, each with its number."""
    seen: dict[Node, int] = {}
    waiting = [root for root in roots if root is not None]
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen[node] = node._sequence_nr()
        if len(seen) > limit:
            break
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                waiting.append(following)
    return seen


def on_a_path_to(nodes: dict[Node, int], targets: Iterable[Node]) -> dict[Node, int]:
    """Those of the nodes from which a target can be reached, without the targets themselves."""
    users: dict[Node, list[Node]] = {}
    for node in nodes:
        for following, _ in node.next_functions:
            if following is not None:
                users.setdefault(following, []).append(node)
    found: dict[Node, int] = {}
    waiting = [user for target in targets if target in nodes for user in users.get(target, ())]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found[node] = nodes[node]
            waiting += users.get(node, ())
    return found


def leaves_above(nodes: Iterable[Node]) -> dict[int, TensorLike]:
    """The leaves in the history of nodes, by id."""
    found = {}
    for node, number in walk(nodes).items():
        if number >= LEAF:
            leaf = getattr(node, "variable", None)
            if leaf is not None:
                found[id(leaf)] = leaf
    return found


def ranges_of(numbers: Iterable[int]) -> Ranges:
    """Numbers as ranges: a few integers for a whole graph.

    >>> ranges_of([5, 1, 2, 3, 9])
    [[1, 3], [5, 5], [9, 9]]
    """
    found: Ranges = []
    for number in sorted(numbers):
        if found and number <= found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return found


def in_ranges(ranges: Ranges, number: int) -> bool:
    """Whether a number lies in one of the ranges.

    >>> in_ranges([[1, 3], [5, 5]], 3), in_ranges([[1, 3], [5, 5]], 4)
    (True, False)
    """
    position = bisect_right(ranges, number, key=lambda pair: pair[0]) - 1
    return position >= 0 and number <= ranges[position][1]


_saved_names: dict[type, list[str]] = {}


def saved_names(node: Node) -> list[str]:
    """The names under which a kind of node shows what it saved: "saved_self", ..."""
    kind = type(node)
    found = _saved_names.get(kind)
    if found is None:
        names = [name for name in dir(kind) if name.startswith("_raw_saved_")]
        found = _saved_names[kind] = [name.removeprefix("_raw_") for name in names]
    return found


class Overwritten:
    """A saved tensor that was written since: the raw value and PyTorch's message."""

    def __init__(self, raw: object, message: str) -> None:
        self.raw = raw[0] if isinstance(raw, (tuple, list)) else raw
        self.message = message


def state_of(node: Node) -> str | Overwritten | None:
    """Whether it is "released", or an `Overwritten`. Only after an error: reading may cost memory.

    Values with an unpack hook are left alone: reading them would run the user's code.
    """
    for name in saved_names(node):
        try:
            raw: object = getattr(node, f"_raw_{name}")
            first = raw[0] if isinstance(raw, (tuple, list)) and raw else raw
            if getattr(first, "unpack_hook", None) is not None:
                continue
            getattr(node, "saved_tensors" if name == "saved_tensors" else f"_{name}")
        except RuntimeError as error:
            if TWICE in str(error):
                return "released"
            if INPLACE in str(error):
                return Overwritten(raw, str(error))
        except AttributeError:
            continue
    return None


def storage_of(tensor: TensorLike) -> int:
    """The address of the memory that a tensor lies in; the same for all its views."""
    return int(tensor.untyped_storage().data_ptr())


def tensors_in(
    value: object, kind: type, found: list[Any] | None = None, depth: int = 0
) -> list[Any]:
    """The tensors in a value made of lists, tuples and dicts."""
    if found is None:
        found = []
    if isinstance(value, kind):
        found.append(value)
    elif isinstance(value, (list, tuple)) and depth < 3:
        for item in value:
            tensors_in(item, kind, found, depth + 1)
    elif isinstance(value, dict) and depth < 3:
        for item in value.values():
            tensors_in(item, kind, found, depth + 1)
    return found
