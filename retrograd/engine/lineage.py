"""Which leaves a value was computed from, noted where its history is cut: for `graph.why_no_grad`.

A cut must not keep the graph behind it alive, so it is noted as weak references to the leaves. Few
nodes are walked for it, so that a cut stays cheap; of a value with a longer history nothing is
noted. `core/lineage.c` does the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TypeAlias

from retrograd.engine.accumulate import is_accumulator
from retrograd.engine.node import Node
from retrograd.engine.state import Cut
from retrograd.lifecycle.site import user_site
from retrograd.tensor import Tensor

MOST_NODES = 128
MOST_LEAVES = 128
MOST_CUTS = 8  # of one node

Leaves: TypeAlias = tuple[weakref.ref[Tensor], ...]


def leaves_behind(roots: Iterable[object]) -> Leaves | None:
    """The leaves behind nodes and tensors, also behind earlier cuts; None where there is too much.

    The way to what lies behind an earlier cut ends at this one, too.
    """
    leaves: dict[int, weakref.ref[Tensor]] = {}
    seen: set[int] = set()
    waiting: list[Node] = []
    cuts: list[Cut] = []
    for root in roots:
        if isinstance(root, Node):
            waiting.append(root)
        elif isinstance(root, Tensor) and not root._requires_grad:
            cuts += [] if root._cut is None else [root._cut]
        elif isinstance(root, Tensor):
            if root._grad_fn is not None:
                waiting.append(root._grad_fn)
            elif root._view is None:
                leaves[id(root)] = weakref.ref(root)
            else:  # made without gradients: it follows its base
                return None
    seen.update(map(id, waiting))
    while waiting:
        node = waiting.pop()
        if is_accumulator(node):
            (leaf,) = node.saved
            leaves[id(leaf)] = weakref.ref(leaf)
            continue
        cuts += getattr(node, "cuts", ())
        for following in node.edges:
            if following is not None and id(following) not in seen:
                seen.add(id(following))
                waiting.append(following)
        if len(seen) > MOST_NODES:
            return None
    for cut in cuts:
        if getattr(cut, "leaves", None) is None:
            return None
        leaves.update((id(leaf), ref) for ref in cut.leaves or () if (leaf := ref()) is not None)
    return None if len(leaves) > MOST_LEAVES else tuple(leaves.values())


def cut_of(kind: str, operation: str, *sources: object) -> Cut:
    """A cut, at the user's line that is running now, of the paths to what `sources` come from."""
    cut = Cut(kind, operation, *user_site(2))
    cut.leaves = leaves_behind(sources)
    return cut


def cut_at(kind: str, operation: str, code: object, lasti: int, *sources: object) -> Cut:
    """The same at a line that is known: for generated code."""
    cut = Cut(kind, operation, code, lasti)  # type: ignore[arg-type]
    cut.leaves = leaves_behind(sources)
    return cut


def note_cuts(node: Node, operands: Iterable[object]) -> None:
    """A node remembers where the paths to its operands were cut, also after it was freed."""
    found = {x._cut: None for x in operands if isinstance(x, Tensor) and x._cut is not None}
    if found:
        node.cuts = tuple(found)[:MOST_CUTS]
