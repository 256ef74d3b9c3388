"""Targets of a loss that have history: `r + gamma * q(s)`, compared with what `q` itself says.

Read from the nodes of a graph: a difference is squared, or a loss of two arguments is taken, both
sides have history and one of them is a constant plus a multiple of something. That is how a value
is estimated by the values that follow it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retrograd.watching.graph import Node, leaves_above

PAIRED = ("MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss")
"""Losses that have both arguments in one node."""

DIFFERENT = ("Pow", "Abs", "Square", "Mul")
"""What is done with a difference that is to become small."""

SAME_VALUE = (
    *("Squeeze", "Unsqueeze", "View", "Reshape", "Unsafe", "Expand", "ToCopy", "Clone", "Where"),
    *("Clamp", "Flatten", "Transpose", "T", "Permute", "Select", "Index", "Slice", "Alias"),
)
"""Nodes that give the same values, some of them, or in another form."""

DEEPEST = 6  # such nodes in a row
NEARLY = 1e-5


@dataclass(frozen=True)
class Target:
    """The numbers of the node of the loss, and of the one that adds up the target."""

    loss: int
    added: int


def own_targets(nodes: Iterable[Node]) -> Iterator[Target]:
    """Those of a graph whose two sides share a leaf."""
    for node in nodes:
        for prediction, side in _sides(node):
            added = _bootstrapped(side)
            if added is not None and _share_leaf(prediction, added):
                yield Target(node._sequence_nr(), added._sequence_nr())
                break


@dataclass(frozen=True)
class Ratio:
    """The numbers of a node that exponentiates a difference, and of what is taken away."""

    raised: int
    taken: int


def ratios_of_one(nodes: Iterable[Node]) -> Iterator[Ratio]:
    """`exp(now - before)` that is one everywhere, of two values computed from the same leaves.

    Both have history, and their gradients cancel: what was to be the old value is the new one.
    """
    for node in nodes:
        if not node.name().startswith("Exp"):
            continue
        edges = [following for following, _ in node.next_functions]
        difference = edges[0] if len(edges) == 1 else None
        if difference is None or not difference.name().startswith("Sub"):
            continue
        sides = [following for following, _ in difference.next_functions]
        if len(sides) != 2 or sides[0] is None or sides[1] is None or sides[0] is sides[1]:
            continue
        own, other = leaves_above([sides[0]]), leaves_above([sides[1]])
        if own and own.keys() == other.keys() and _is_one(node):
            yield Ratio(node._sequence_nr(), sides[1]._sequence_nr())


def _is_one(node: Node) -> bool:
    """Whether all that a node gave is 1, but for rounding."""
    try:
        result = node._saved_result
    except (AttributeError, RuntimeError):
        return False
    if result.is_meta:
        return False  # nobody knows
    return bool(((result.detach() - 1).abs() <= NEARLY).all())


def _sides(node: Node) -> Iterator[tuple[Node, Node]]:
    """The two sides of a loss, each once as the prediction and once as the target."""
    name = node.name()
    if name.startswith(PAIRED):
        edges = [following for following, _ in node.next_functions]
    elif name.startswith(DIFFERENT):
        inner = [following for following, _ in node.next_functions]
        if len(inner) == 2 and inner[0] is not inner[1] and inner[1] is not None:
            return  # a product of two values
        difference = inner[0] if inner else None
        if difference is None or not difference.name().startswith("Sub"):
            return
        edges = [following for following, _ in difference.next_functions]
    else:
        return
    if len(edges) == 2 and edges[0] is not None and edges[1] is not None:
        yield edges[0], edges[1]
        yield edges[1], edges[0]


def _bootstrapped(side: Node) -> Node | None:
    """The node that adds a constant to a multiple of something with history, if a side is that."""
    added = inner(side)
    if not added.name().startswith("Add"):
        return None
    edges = [following for following, _ in added.next_functions]
    if len(edges) != 2 or (edges[0] is None) == (edges[1] is None):
        return None
    multiple = inner(edges[0] or edges[1])
    if not multiple.name().startswith("Mul"):
        return None
    factors = [following for following, _ in multiple.next_functions]
    return added if len(factors) == 2 and None in factors else None


def inner(node: Node) -> Node:
    """What a value was before its form was changed."""
    for _ in range(DEEPEST):
        following = [each for each, _ in node.next_functions if each is not None]
        if not node.name().startswith(SAME_VALUE) or len(following) != 1:
            break
        node = following[0]
    return node


def _share_leaf(one: Node, other: Node) -> bool:
    return not leaves_above([one]).keys().isdisjoint(leaves_above([other]))
