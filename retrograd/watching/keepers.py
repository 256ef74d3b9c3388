"""What keeps a graph alive: the tensors and nodes that lead to it, and who holds those.

Three looks, each for what the one before has not found: from the variables of the program forward,
from the values backward, and by hand what PyTorch keeps where the garbage collector cannot see it.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from types import FrameType
from typing import Any, Literal

from retrograd.watching.contents import Contents, locals_of
from retrograd.watching.heap import is_leaf, tracked, with_history
from retrograd.watching.holders import Part, is_own, search
from retrograd.watching.places import OWN_FOLDERS, is_user_code
from retrograd.watching.reading import Node, Reader, behind, leading_to, node_of
from retrograd.watching.referrers import Effort, chain_to, parts_of

MOST_NEAR = 10_000
MOST_OBJECTS = 50_000
MOST_AFTER = 20_000  # objects that are looked at when everything was found once
DEEPEST = 12
MOST_PATHS = 8  # to one value
MOST_SEARCHED = 20  # values that are looked for backward

ITSELF, COMPUTED, NODE = "the tensor itself", "computed from it", "a node of the graph"

Root = FrameType | types.ModuleType | None


@dataclass(frozen=True)
class Kept:
    """One way in which something is held: the steps, where they begin, and what it is."""

    parts: list[Part]
    root: Root
    relation: str
    value: object
    keys: dict[int, Kept] = field(default_factory=dict)
    """How tensors are reached that are keys on the way, by their ids."""


@dataclass
class Carriers:
    """What leads to a node: live tensors with it in their history, and nodes."""

    tensors: list[Any]
    """All live tensors of the library."""
    reaching: set[Node]
    wanted: dict[int, tuple[object, str]]
    """By id: what has to be held for the graph to live, and how it is related to it."""


def keepers(
    reader: Reader, target: object, frame: FrameType | None
) -> tuple[list[Kept], Literal["", "forward", "backward"]]:
    """What keeps `target`, a tensor or a node, and its graph alive; which search was broken off."""
    carriers = _carriers(reader, target)
    contents = Contents(reader)
    found: list[Kept] = []
    counts: dict[int, int] = {}
    tensors: dict[int, Kept] = {}
    most, looked = MOST_OBJECTS, 0
    near = search(_nearest(frame), contents, MOST_NEAR, DEEPEST)
    for trail in chain(near, search(_starts(frame), contents, MOST_OBJECTS, DEEPEST)):
        looked += 1
        if looked >= most:
            break
        key = id(trail.part.value)
        if isinstance(trail.part.value, reader.tensor) and not trail.part.kind:
            tensors.setdefault(key, Kept(trail.parts(), _root(trail.root), "", None))
        if key not in carriers.wanted:
            continue
        counts[key] = counts.get(key, 0) + 1
        if len(counts) == len(carriers.wanted):
            most = min(most, looked + MOST_AFTER)  # others may hold it, too
        if counts[key] <= MOST_PATHS and not _is_within(trail.parts(), target, carriers):
            value, relation = carriers.wanted[key]
            found.append(Kept(trail.parts(), _root(trail.root), relation, value, tensors))
    del trail
    missing = [pair for key, pair in carriers.wanted.items() if key not in counts]
    effort = Effort()
    for value, relation in [pair for pair in missing if pair[1] != NODE][:MOST_SEARCHED]:
        found += _backward(reader, value, relation, target, carriers, effort)
    if not found:  # nodes hold each other, and tensors theirs: only what nothing else explains
        for value, relation in [pair for pair in missing if pair[1] == NODE][:MOST_SEARCHED]:
            found += _backward(reader, value, relation, target, carriers, effort)
    return found, "backward" if effort.spent else "forward" if looked >= most else ""


def _is_within(parts: list[Part], target: object, carriers: Carriers) -> bool:
    """Whether it is an inner value of a graph that leads there anyhow: its end is what holds it."""
    return parts[-1].value is not target and any(
        part.kind == "saved" and part.node in carriers.reaching for part in parts
    )


def _carriers(reader: Reader, target: object) -> Carriers:
    if gc.get_freeze_count():
        gc.unfreeze()  # what is frozen is in no list
    gc.collect()
    found = tracked(lambda kind: issubclass(kind, reader.tensor) or reader.is_node_class(kind))
    tensors = [thing for thing in found if issubclass(type(thing), reader.tensor)]
    shown = [thing for thing in found if reader.is_node_class(type(thing))]
    del found
    node = node_of(reader, target)
    roots = {id(t): reader.root(t) for t in with_history(tensors)}
    nodes = behind(reader, [*roots.values(), *(node_of(reader, each) for each in shown)])
    reaching = set() if node is None else leading_to(reader, nodes, [node])
    wanted: dict[int, tuple[object, str]] = {}
    if isinstance(target, reader.tensor):
        wanted[id(target)] = target, ITSELF
    for tensor in tensors:
        if roots.get(id(tensor)) in reaching:
            wanted.setdefault(id(tensor), (tensor, COMPUTED))
    for each in shown:
        if node_of(reader, each) in reaching:
            wanted[id(each)] = each, NODE
    return Carriers(tensors, reaching, wanted)


def _nearest(frame: FrameType | None) -> Iterator[tuple[Part, object]]:
    """The variables that the caller sees as its own, first: there may be very many others."""
    if frame is not None and is_user_code(frame.f_code.co_filename):
        module = None
        if frame.f_globals is frame.f_locals:
            module = sys.modules.get(frame.f_globals.get("__name__", ""))
        root = module if module is not None and vars(module) is frame.f_globals else None
        for name, value in locals_of(frame).items():
            if not (name.startswith("__") or isinstance(value, types.ModuleType)):
                yield Part(name, value), root or (None if _is_top(frame) else frame)


def _starts(frame: FrameType | None) -> Iterator[tuple[Part, object]]:
    """The variables of the frames of the user's files, then of the user's modules."""
    running: list[FrameType | None] = [frame, *sys._current_frames().values()]
    seen: set[FrameType] = set()
    modules = {id(vars(m)) for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)}
    for each in running:
        while each is not None and each not in seen:
            seen.add(each)
            known = each.f_globals is each.f_locals and id(each.f_globals) in modules
            if not known and is_user_code(each.f_code.co_filename):
                for name, value in locals_of(each).items():
                    if not name.startswith("__"):
                        yield Part(name, value), None if _is_top(each) else each
            each = each.f_back
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and is_own(module.__name__):
            for name, value in list(vars(module).items()):
                if not (name.startswith("__") or isinstance(value, types.ModuleType)):
                    yield Part(name, value), module
    for name in ("last_exc", "last_value"):
        if (error := getattr(sys, name, None)) is not None:
            yield Part(f"sys.{name}", error), sys


def _is_top(frame: FrameType) -> bool:
    return frame.f_code.co_name == "<module>"


def _root(root: object) -> Root:
    return root if isinstance(root, (FrameType, types.ModuleType)) else None


def _backward(
    reader: Reader,
    value: object,
    relation: str,
    target: object,
    carriers: Carriers,
    effort: Effort,
) -> Iterator[Kept]:
    """The way by which something unknown holds the value; else what the collector cannot see."""
    chain = chain_to(value, effort)
    if chain is not None and chain.root is not None:
        yield Kept(parts_of(chain, Contents(reader)), chain.root, relation, value)
        return
    by_hand = [] if relation == NODE else list(_by_hand(reader, value, target, carriers))
    for part, owner in by_hand:
        outer = chain_to(owner, effort)
        if outer is not None:
            steps = parts_of(outer, Contents(reader))
            yield Kept([*steps, part], outer.root, relation, value)
    if not by_hand and chain is not None:
        yield Kept(parts_of(chain, Contents(reader)), None, relation, value)


def _by_hand(
    reader: Reader, value: object, target: object, carriers: Carriers
) -> Iterator[tuple[Part, object]]:
    """The tensors that hold a value in places of PyTorch's own: a gradient, a base, a graph."""
    for tensor in carriers.tensors:
        if is_leaf(tensor) and tensor.grad is value:
            yield Part(".grad of {0}", value, kind="grad"), tensor
        elif tensor._is_view() and tensor._base is value:
            yield Part("_base of view {0}", value, kind="base"), tensor
    for node, tensor in _with_owners(reader, carriers.tensors):
        if any(kept is value for kept in reader.kept(node)):
            text, place = f"saved by {reader.name(node)}", reader.place(node)
            part = Part(text, value, kind="saved", place=place, node=node)
            if not _is_within([part], target, carriers):
                yield part, tensor
                return


def _with_owners(reader: Reader, tensors: list[Any]) -> Iterator[tuple[Node, Any]]:
    """Each node once, with the youngest tensor that leads to it."""
    roots = [(reader.root(tensor), tensor) for tensor in with_history(tensors)]
    roots.sort(key=lambda pair: -reader.number(pair[0]))
    seen: set[Node] = set()
    for root, tensor in roots:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node not in seen:
                seen.add(node)
                yield node, tensor
                waiting += [following for following, _ in reader.edges(node)]


def is_own_frame(frame: FrameType) -> bool:
    """Whether a frame is one of the tools' own."""
    return frame.f_code.co_filename.startswith(OWN_FOLDERS)
