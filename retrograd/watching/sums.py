"""What a value is a sum of, read from the nodes that added it up."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from retrograd.watching.graph import Node

MOST_PARTS = 400  # of one sum; one with more is not looked at
MOST_TERMS = 16  # whose leaves are looked for
NEAR = 3  # nodes of one chain of additions in which the same value may cancel itself

Edge = tuple[Node, int]
NumberOf = Callable[[Any], float]


def added_terms(roots: Iterable[Node | None]) -> list[tuple[int, bool, bool, int]]:
    """The nodes by which roots are sums, or means of sums that are squared, oldest first.

    Each with its number, whether the left and the right term are without history, and how many
    steps that measure or weigh a sum, as a mean, lie between it and the root.
    """
    found, seen = [], set()
    waiting = [(root, 0) for root in roots if root is not None]
    while waiting:
        node, depth = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        edges = [following for following, _ in node.next_functions]
        if node.name().startswith(_ADDING):
            left, right = (edges[0], edges[1]) if len(edges) == 2 else (node, node)
            found.append((node._sequence_nr(), left is None, right is None, depth))
        elif node.name().startswith(("Mul", "Div")) and None in edges:
            depth += 1  # a term with its weight
        elif node.name().startswith(_MEASURING):
            edges, depth = edges[:1], depth + 1  # a residual
        else:
            continue
        waiting += [(following, depth) for following in edges if following is not None]
    return sorted(found)


def one_sided(roots: Iterable[Node | None]) -> Iterator[int]:
    """The numbers of the sums and differences that a root is, of which one side has no history."""
    waiting = [root for root in roots if root is not None]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        node = waiting.pop()
        edges = [following for following, _ in node.next_functions]
        if node.name().startswith(_ADDING):
            if None in edges and not _has_elements(node):
                yield node._sequence_nr()
        elif (
            not node.name().startswith(("Neg", "Div", "Mul")) or len(edges) - edges.count(None) > 1
        ):
            continue
        waiting += [following for following in edges if following is not None]


_ADDING = ("AddBackward", "SubBackward", "RsubBackward")
_MEASURING = ("Mean", "Sum", "Pow", "Abs", "Square", "Neg", "MseLoss", "Squeeze", "Select")


def weighted_terms(roots: Iterable[Node | None]) -> list[int]:
    """The numbers of the products of two values with history, of which roots are sums or means."""
    found: list[int] = []
    seen: set[Node] = set()
    waiting = [root for root in roots if root is not None]
    while waiting and len(seen) < MOST_PARTS:
        node = waiting.pop()
        edges = [following for following, _ in node.next_functions]
        if node in seen:
            continue
        seen.add(node)
        if node.name().startswith("Mul") and len(edges) == 2 and None not in edges:
            if edges[0] is not edges[1]:
                found.append(node._sequence_nr())
        elif node.name().startswith(_SUMMING):
            waiting += [following for following in edges if following is not None]
    return found


_SUMMING = ("Add", "Sub", "Rsub", "Neg", "Mean", "Sum", "Mul", "Div", "Minimum", "Stack", "Cat")


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


def leaves_of_terms(nodes: Mapping[Node, int], terms: Container[int]) -> list[frozenset[int]]:
    """For each of a few terms the leaves that it comes from, by id: see `terms_of`."""
    roots = [node for node, number in nodes.items() if number in terms]
    return [_leaves_behind(root) for root in roots] if len(roots) <= MOST_TERMS else []


def _leaves_behind(root: Node) -> frozenset[int]:
    seen, waiting = {root}, [root]
    while waiting:
        for following, _ in waiting.pop().next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return frozenset(id(node.variable) for node in seen if hasattr(node, "variable"))


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


_AS_IT_IS = (*_SUMMING, "Squeeze", "Unsqueeze", "View", "Reshape", "UnsafeView", "Select")
_LAYERS = ("Addmm", "Mm", "Bmm", "Mv", "Addmv", "Linear", "Convolution", "Baddbmm")


def leaves_of_outputs(roots: Iterable[Node | None]) -> frozenset[int]:
    """The leaves of the last layers, by id, where a loss is their output, summed and weighed.

    `-critic(state, action).mean()` is the output of critic: nothing measures it.
    """
    found: set[int] = set()
    seen: set[Node] = set()
    waiting = [root for root in roots if root is not None]
    while waiting and len(seen) < MOST_PARTS:
        node = waiting.pop()
        edges = [following for following, _ in node.next_functions if following is not None]
        name = node.name()
        if node in seen:
            continue
        seen.add(node)
        if name.startswith(_LAYERS):
            turned = [each for edge in edges for each in _turned(edge)]
            found |= {id(each.variable) for each in turned if hasattr(each, "variable")}
        elif name.startswith(("Mul", "Div")) and len(edges) > 1:
            continue
        elif name.startswith(_AS_IT_IS):
            waiting += edges
    return frozenset(found)


def _turned(node: Node) -> list[Node]:
    """What a weight is transposed from, else the node itself."""
    if node.name().startswith(("TBackward", "Transpose")):
        return [following for following, _ in node.next_functions if following is not None]
    return [node]
