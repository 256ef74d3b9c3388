"""Steps in a graph that have no slope: `round`, `sign`, draws. What lies behind them gets zeros.

Such a node has a history, so nothing is cut and nothing fails, but its derivative is zero
everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from retrograd.watching.graph import Node, leaves_above

DRAWN = "Normal"
LAYERS = ("Addmm", "Mm", "Bmm", "Convolution", "Linear", "View", "Reshape", "UnsafeView", "Cat")
"""What a decoder begins with; a density takes the difference of a value and its mean."""

FLAT = ("Round", "Sign", "Sgn", "Floor", "Ceil", "Trunc", "Bernoulli", "Poisson", "Normal")


@dataclass(frozen=True)
class Flat:
    """A node without slope, and the leaves that reach the loss only through such nodes."""

    number: int
    name: str  # "round"
    behind: frozenset[int]  # ids
    drawn: bool = False  # what was drawn goes into a layer: a sample that was to have a slope


def flat_steps(roots: Iterable[Node | None], nodes: Iterable[Node]) -> list[Flat]:
    """Those of a graph behind which leaves lie that no other way leads to."""
    flat = [node for node in nodes if node.name().startswith(FLAT)]
    if not flat:
        return []
    stops = set(flat)
    waiting = [root for root in roots if root is not None]
    seen: set[Node] = set()
    reached: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or node in stops:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            reached.add(id(leaf))
        waiting += [following for following, _ in node.next_functions if following is not None]
    found = []
    users = _users(nodes, stops)
    for node in flat:
        above = frozenset(leaves_above([node]))
        behind = above - reached
        name = node.name().partition("Backward")[0].lower()
        drawn = node.name().startswith(DRAWN) and all(
            user.name().startswith(LAYERS) for user in users[node]
        )
        if behind or (drawn and above):
            found.append(Flat(node._sequence_nr(), name, behind, drawn and bool(users[node])))
    return found


def _users(nodes: Iterable[Node], sought: set[Node]) -> dict[Node, list[Node]]:
    """What some nodes of a graph are used by."""
    found: dict[Node, list[Node]] = {node: [] for node in sought}
    for node in nodes:
        for following, _ in node.next_functions:
            if following in found:
                found[following].append(node)
    return found
