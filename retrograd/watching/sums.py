"""What a value is a sum of, read from the nodes that added it up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from retrograd.watching.graph import Node

MOST_PARTS = 400  # of one sum; one with more is not looked at
NEAR = 3  # nodes of one chain of additions in which the same value may cancel itself

Edge = tuple[Node, int]
NumberOf = Callable[[Any], float]


def added_terms(roots: Iterable[Node | None]) -> list[tuple[int, bool, bool]]:
    """The nodes by which roots are sums, from the oldest to the youngest.

    Each with its number and whether the left and the right term are without history.
    """
    found, seen = [], set()
    waiting = [root for root in roots if root is not None]
    while waiting:
        node = waiting.pop()
        if node in seen or not node.name().startswith(("Add", "Sub", "Rsub")):
            continue
        seen.add(node)
        edges = [following for following, _ in node.next_functions]
        left, right = (edges[0], edges[1]) if len(edges) == 2 else (node, node)
        found.append((node._sequence_nr(), left is None, right is None))
        waiting += [following for following in edges if following is not None]
    return sorted(found)


def terms_of(root: Node | None, number_of: NumberOf) -> dict[int, float]:
    """The nodes whose sum a root of one element is, by number, each with its factor.

    `0.5 * (a + b)` and `torch.stack([a, b]).mean()` are of the terms a and b, each by a half. A
    product of two values with history is a term itself.
    """
    found: dict[int, float] = {}
    waiting = [] if root is None else [(root, 1.0)]
    for _ in range(MOST_PARTS):
        if not waiting:
            return found
        node, factor = waiting.pop()
        parts = _scaled_parts(node, number_of)
        if parts is None:
            number = node._sequence_nr()
            found[number] = found.get(number, 0.0) + factor
        else:
            waiting += [(part, factor * by) for part, by in parts]
    return {}


def _scaled_parts(node: Node, number_of: NumberOf) -> list[tuple[Node, float]] | None:
    """The values that a node adds up, each with its factor; None if it does something else."""
    name = node.name()
    edges = [following for following, _ in node.next_functions]
    if name.startswith(("Sum", "Mean")) and len(edges) == 1 and edges[0] is not None:
        if not edges[0].name().startswith(("Stack", "Cat")):
            return None
        parts = [following for following, _ in edges[0].next_functions]
        by = 1.0 if name.startswith("Sum") else 1.0 / len(parts)
        return [(part, by) for part in parts if part is not None]
    if name.startswith(("Mul", "Div")) and len(edges) == 2 and edges[1] is None:
        factor = _other_factor(node, number_of)
        if edges[0] is None or not factor:
            return None
        return [(edges[0], factor if name.startswith("Mul") else 1.0 / factor)]
    signs = _signs(node)
    if signs is None:
        return None
    return [(edge, by) for edge, by in zip(edges, signs, strict=False) if edge is not None]


def _signs(node: Node) -> tuple[float, ...] | None:
    """By what a node multiplies its inputs before it adds them; None if it adds nothing."""
    name = node.name()
    if name.startswith("Neg"):
        return (-1.0,)
    alpha = getattr(node, "_saved_alpha", None)
    if not isinstance(alpha, (int, float)):
        return None
    if name.startswith("Add"):
        return (1.0, float(alpha))
    if name.startswith("Sub"):
        return (1.0, -float(alpha))
    return (-float(alpha), 1.0) if name.startswith("Rsub") else None


def _other_factor(node: Node, number_of: NumberOf) -> float | None:
    """The number by which a node multiplies or divides, if it is one."""
    try:
        other = node._saved_other
    except (AttributeError, RuntimeError):
        return None
    return None if other is None or other.numel() != 1 else number_of(other)


def cancelled(nodes: Iterable[Node]) -> Iterator[int]:
    """The numbers of the nodes that add a value and take it away again: `z + (q - z)`.

    What comes out has no gradient for it, whatever was meant. Numbers are no such values.
    """
    for node in nodes:
        if node.name().startswith(("Add", "Sub", "Rsub")) and _has_elements(node):
            added: dict[Edge, list[float]] = {}
            _gather((node, 0), 1.0, NEAR, added)
            if any(len(factors) > 1 and sum(factors) == 0 for factors in added.values()):
                yield node._sequence_nr()


def _gather(edge: Edge, factor: float, depth: int, added: dict[Edge, list[float]]) -> None:
    signs = _signs(edge[0]) if depth else None
    if signs is None:
        added.setdefault(edge, []).append(factor)
        return
    for (following, place), by in zip(edge[0].next_functions, signs, strict=False):
        if following is not None:
            _gather((following, place), factor * by, depth - 1, added)


def _has_elements(node: Node) -> bool:
    """Whether what a node gives has more than one element."""
    known: Sequence[Any] = getattr(node, "_input_metadata", ())
    return len(known) > 0 and any(size != 1 for size in known[0].shape)
