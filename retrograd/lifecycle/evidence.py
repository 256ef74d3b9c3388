"""From recorded facts to a cause: why is a freed node on the way of this backward pass?

Nodes and backward calls draw their numbers from one counter, so "made before that call" is a
comparison. F is the freed node that stopped the pass, C the first consumer on the way to it that
the freeing call did not walk, B the walked value that C takes:

| evidence                                               | cause                    |
| ------------------------------------------------------ | ------------------------ |
| the root was already walked by the freeing call        | same-loss-twice          |
| C is older than the freeing call                       | shared-subgraph          |
| C is newer, the line of B or F ran again since         | stale-state-carried      |
| C is newer, the line of C also led the first call to B | precomputed-outside-loop |
| C is newer, another line led there                     | shared-subgraph          |

A freeing call of `autograd.grad` is a cause of its own, freed-by-grad-call, unless state was
carried; a carried value that was itself sent back is accumulated-history. Where two rows hold at
once, the loop around the call decides; without one the cause is None. It is None too where lines
would have to decide and none were recorded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import CodeType
from typing import Any, Protocol

from .site import CallSite


class NodeFacts(Protocol):
    """What a graph node remembers about itself."""

    @property
    def edges(self) -> Sequence[Any]: ...
    @property
    def sequence(self) -> int: ...
    @property
    def code(self) -> CodeType | None: ...
    @property
    def lasti(self) -> int: ...
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def freed(self) -> Any: ...
    @property
    def reached_code(self) -> CodeType | None: ...
    @property
    def reached_lasti(self) -> int: ...
    def name(self) -> str: ...


class CallFacts(Protocol):
    """What a call of backward() or autograd.grad() remembers about itself."""

    @property
    def number(self) -> int: ...
    @property
    def ordinal(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def retain_graph(self) -> Any: ...
    @property
    def kept(self) -> object: ...
    @property
    def create_graph(self) -> bool: ...
    @property
    def code(self) -> CodeType | None: ...
    @property
    def lasti(self) -> int: ...
    @property
    def roots(self) -> Sequence[int]: ...
    @property
    def nodes_run(self) -> int: ...
    @property
    def interrupted_by(self) -> str | None: ...


class VersionFacts(Protocol):
    """What a storage remembers about its last in-place write."""

    @property
    def version(self) -> int: ...
    @property
    def writer(self) -> str | None: ...
    @property
    def code(self) -> CodeType | None: ...
    @property
    def lasti(self) -> int: ...


class CutFacts(Protocol):
    """Where a tensor lost its history."""

    @property
    def kind(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def code(self) -> CodeType | None: ...
    @property
    def lasti(self) -> int: ...


@dataclass(frozen=True)
class FreedEvidence:
    """The cause with the nodes that show it: `carried` is B, `consumer` is C."""

    cause: str | None
    carried: NodeFacts
    consumer: NodeFacts | None = None
    root: NodeFacts | None = None
    consumer_also_takes_fresh: bool = False
    detaching_starves: bool = False


def site_of(thing: NodeFacts | CallFacts | VersionFacts | CutFacts) -> CallSite:
    """Where a node was created, a call was made, a write happened."""
    return CallSite(thing.code, thing.lasti)


def version_seen(node: NodeFacts, cell: VersionFacts) -> int:
    """The version of a storage that the node saved a value at; -1 if it saved nothing of it."""
    saved = tuple(getattr(node, "saved", ()))
    for value, version in pairwise(saved):
        # A saved input is followed by its version, a saved output by its cell and version.
        if value is cell or (isinstance(version, int) and getattr(value, "_cell", None) is cell):
            return int(version)
    return -1


def reached_site(node: NodeFacts) -> CallSite:
    """The site of the consumer through which the freeing call came to the node."""
    return CallSite(node.reached_code, node.reached_lasti)


def result_name(node: NodeFacts | None) -> str | None:
    """The variable that the node's result was assigned to."""
    return None if node is None else site_of(node).result_name()


def operand_name(value: NodeFacts, consumer: NodeFacts | None) -> str | None:
    """The variable through which an older value came into the consumer's line.

    A value that was made earlier can enter an expression only through a variable in it: the operand
    at its place, the variable it was assigned to, or the only one there is.
    """
    made_as = result_name(value)
    if consumer is None:
        return made_as
    syntax = site_of(consumer).syntax
    if syntax is None:
        return made_as
    edges = list(consumer.edges)
    node = syntax.node
    if isinstance(node, ast.BinOp) and len(edges) == 2 and None not in edges:
        index = [position for position, edge in enumerate(edges) if edge is value]
        if len(index) == 1:
            operand = syntax.source((node.left, node.right)[index[0]])
            if operand in syntax.names():
                return operand
    names = syntax.names()
    if made_as in names and _still_holds(value, consumer, made_as):
        return made_as
    only = names[0] if len(names) == 1 else None
    return None if only is None or takes_list(consumer) else only


def _still_holds(value: NodeFacts, consumer: NodeFacts, name: str) -> bool:
    """Whether the variable that got the value has it where the consumer reads the variable."""
    made, used = site_of(value), site_of(consumer)
    if made.code is not used.code or made.line is None or used.line is None or made.syntax is None:
        return False
    if used.line <= made.line:
        return True  # read before this pass assigns it anew
    assigned_once = len(made.syntax.assigned_lines(name)) == 1
    return assigned_once and made.loop() is None and made.function == "<module>"


def takes_list(node: NodeFacts) -> bool:
    """Whether the node's operation takes a list of tensors, as cat() does."""
    node.name()  # a node gets its own class, which knows its operation, when it is looked at
    op = getattr(node, "op", None)
    return op is not None and op.plan.edges is None


def freed_evidence(
    freed: NodeFacts, consumer: NodeFacts | None, call: CallFacts, roots: Sequence[NodeFacts]
) -> FreedEvidence:
    """Why `call`, which started at `roots`, came through `consumer` to the freed node."""
    freeing: CallFacts | None = freed.freed
    if freeing is None or freeing is call:
        return FreedEvidence(None, freed, consumer)
    graph = _Graph(freed, roots)
    evidence = _same_root(graph, freeing, roots) or _boundary(graph, freeing, call, consumer)
    if freeing.kind == "grad" and evidence.cause not in (
        "stale-state-carried",
        "accumulated-history",
    ):
        cause = "freed-by-grad-call"
        return FreedEvidence(cause, evidence.carried, evidence.consumer, evidence.root)
    return evidence


class _Graph:
    """Everything reachable from the failing roots, and what of it leads to the freed node."""

    def __init__(self, freed: NodeFacts, roots: Sequence[NodeFacts]) -> None:
        self.freed = freed
        self.roots = roots
        self.nodes: dict[int, NodeFacts] = {id(root): root for root in roots}
        consumers: dict[int, list[NodeFacts]] = {}
        waiting = list(self.nodes.values())
        while waiting:
            node = waiting.pop()
            for child in node.edges:
                if child is None:
                    continue
                consumers.setdefault(id(child), []).append(node)
                if id(child) not in self.nodes:
                    self.nodes[id(child)] = child
                    waiting.append(child)
        # Upwards from the freed node: itself and all nodes from which it can be reached.
        self.above: dict[int, NodeFacts] = {id(freed): freed}
        waiting = [freed]
        while waiting:
            for node in consumers.get(id(waiting.pop()), ()):
                if id(node) not in self.above:
                    self.above[id(node)] = node
                    waiting.append(node)

    def pairs(self) -> Iterable[tuple[NodeFacts, NodeFacts]]:
        """(value, consumer) for every edge on a path from a root to the freed node."""
        for consumer in self.above.values():
            for value in consumer.edges:
                if value is not None and id(value) in self.above:
                    yield value, consumer

    def ran_again(self, nodes: Iterable[NodeFacts], since: int) -> bool:
        """Whether the line of one of the nodes made another node after the moment `since`."""
        sites = {site for node in nodes if (site := site_of(node))}
        if not sites:
            return False
        return any(n.sequence > since and site_of(n) in sites for n in self.nodes.values())

    def takes_fresh(self, value: NodeFacts, consumer: NodeFacts, since: int) -> bool:
        """Whether the line of `consumer` takes, in the same pass, also a value made since."""
        where = [index for index, edge in enumerate(consumer.edges) if edge is value]
        site = site_of(consumer)
        for node in self.nodes.values():
            if node is consumer or node.sequence <= since or not site == site_of(node):
                continue
            for index in where:
                edge = node.edges[index] if index < len(node.edges) else None
                if edge is not None and edge.sequence > since and site_of(edge) == site_of(value):
                    return True
        return False

    def starves_without(self, value: NodeFacts) -> bool:
        """Whether detaching the value would leave no leaf that this pass could train."""
        seen = {id(value)}
        waiting = [node for node in self.roots if node is not value]
        while waiting:
            node = waiting.pop()
            if is_leaf(node):
                return False
            for child in node.edges:
                if child is not None and id(child) not in seen:
                    seen.add(id(child))
                    waiting.append(child)
        return any(is_leaf(node) for node in self.nodes.values())


def is_leaf(node: NodeFacts) -> bool:
    """Whether the node is where a leaf collects its gradient."""
    return node.name().endswith("AccumulateGrad")


def _same_root(
    graph: _Graph, freeing: CallFacts, roots: Sequence[NodeFacts]
) -> FreedEvidence | None:
    for root in roots:
        walked = root.freed is freeing or root.sequence in freeing.roots
        if walked and id(root) in graph.above:
            return FreedEvidence("same-loss-twice", root, None, root)
    return None


def _boundary(
    graph: _Graph, freeing: CallFacts, call: CallFacts, consumer: NodeFacts | None
) -> FreedEvidence:
    since = freeing.number
    walked = [(b, c) for b, c in graph.pairs() if b.freed is freeing and c.freed is not freeing]
    if not walked:
        # The freed node cannot be reached from the given roots: say only what was told.
        return FreedEvidence(None, graph.freed, consumer)
    newer = [(b, c) for b, c in walked if c.sequence > since]
    carried, user = _newest(newer or walked)
    repeated = site_of(freeing) == site_of(call)
    if newer:
        return _across_calls(graph, since, carried, user, call, repeated)
    # C was there before the freeing call: another branch of the same forward pass, or a state that
    # was made after its last use, so that the freeing call never came to it.
    aged = [(b, c) for b, c in graph.pairs() if b.sequence < since < c.sequence]
    if aged and not site_of(call):
        return FreedEvidence(None, carried, user)
    if aged and repeated:
        state, state_user = _newest(aged)
        rolled_on = reached_site(carried) == site_of(state_user)
        if rolled_on or graph.ran_again((state,), since):
            if site_of(carried) == site_of(user):
                # Both within one call of a layer: the step from pass to pass tells more.
                carried, user = state, state_user
            return _carried_state(graph, since, carried, user, freeing)
    return FreedEvidence("shared-subgraph", carried, user)


def _across_calls(
    graph: _Graph, since: int, carried: NodeFacts, user: NodeFacts, call: CallFacts, repeated: bool
) -> FreedEvidence:
    ran_again = graph.ran_again((carried, graph.freed), since)
    same_door = reached_site(carried) == site_of(user)
    in_loop = _made_in_loop(carried, user, call) if repeated else None
    starves = graph.starves_without(carried)
    if not site_of(carried) or not site_of(user):
        return FreedEvidence(None, carried, user, detaching_starves=starves)
    if in_loop is False and (same_door or not ran_again):
        return FreedEvidence("precomputed-outside-loop", carried, user, detaching_starves=starves)
    if ran_again and same_door and in_loop is None:
        return FreedEvidence(None, carried, user, detaching_starves=starves)
    if ran_again:
        return _carried_state(graph, since, carried, user, graph.freed.freed)
    if same_door:
        return FreedEvidence("precomputed-outside-loop", carried, user, detaching_starves=starves)
    return FreedEvidence("shared-subgraph", carried, user)


def _carried_state(
    graph: _Graph, since: int, carried: NodeFacts, user: NodeFacts, freeing: CallFacts
) -> FreedEvidence:
    is_total = carried.sequence in freeing.roots
    return FreedEvidence(
        "accumulated-history" if is_total else "stale-state-carried",
        carried,
        user,
        consumer_also_takes_fresh=graph.takes_fresh(carried, user, since),
        detaching_starves=graph.starves_without(carried),
    )


def _newest(pairs: Sequence[tuple[NodeFacts, NodeFacts]]) -> tuple[NodeFacts, NodeFacts]:
    """The newest value, and the oldest of its consumers: the first use of the stale value."""
    return max(pairs, key=lambda pair: (pair[0].sequence, -pair[1].sequence))


def _made_in_loop(value: NodeFacts, user: NodeFacts, call: CallFacts) -> bool | None:
    """Whether the value was made in the loop around the call; None if that cannot be told."""
    loop = site_of(call).loop()
    if loop is None or call.code is None:
        return None
    if value.code is call.code:
        line = site_of(value).line
        return None if line is None else line in loop
    # Made by a function: then the variable that brought it here was assigned inside or outside.
    name, syntax = operand_name(value, user), site_of(user).syntax
    if name is None or syntax is None or user.code is not call.code:
        return None
    inside = {line in loop for line in syntax.assigned_lines(name)}
    return inside.pop() if len(inside) == 1 else None
