"""After "Trying to backward through the graph a second time": what was carried into the new graph.

The failing call has itself released the nodes that it passed before it raised, so a node counts as
released before only if an earlier call that did not retain went through it. The engine takes the
highest number first: the highest such node is the one that raised.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from inspect import CO_GENERATOR
from itertools import pairwise
from types import CodeType, FrameType, TracebackType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence import repeats
from retrograd.doctor.evidence.repeats import Repetition
from retrograd.doctor.session import Watched
from retrograd.watching.graph import (
    Node,
    in_ranges,
    leaves_above,
    saved_names,
    state_of,
    walk,
)
from retrograd.watching.heap import tracked, with_history
from retrograd.watching.holders import MOST_ITEMS, Held, holder_of
from retrograd.watching.lines import LEAF, LineLog
from retrograd.watching.records import Call, Failure
from retrograd.watching.source import set_before_read
from retrograd.watching.torch_types import TensorLike

Stack = list[tuple[int, Place]]

ADDING = ("Add", "Sum", "Mean", "Stack", "Div", "Cat", "Unsqueeze", "Select", "Unbind", "Squeeze")
"""Beginnings of the names of nodes that collect values without using them otherwise."""


@dataclass
class SecondBackward:
    """Everything the rules ask about a second backward."""

    failure: Failure
    call: Call  # that failed
    freer: Call  # that released the node which raised
    node: Node  # that raised
    boundary: list[
        Node
    ]  # stale values through which the new graph reaches the old one, newest first
    made: Stack  # the stack that made the newest of them
    consumers: list[Stack]  # the stacks that used them in the new graph, oldest first
    repetition: Repetition | None
    root_sent_before: bool  # the root itself was part of an earlier call
    root_is_scaled: bool  # ... or is a copy of it: a sum, a multiple
    made_inside: bool  # of what repeats
    made_by_outer_loop: bool
    made_in_earlier_outer: bool  # ... which has gone round since
    in_one_generator: bool  # the loop goes over a generator, one run of which made and used it
    made_again: bool  # lines of the stale history ran again since it was released
    stepped_between: bool  # a step, or a write by hand, changed parameters above the boundary
    any_step_between: bool
    parameters_moved: bool  # any parameter of the graph was written between the two calls
    only_sums: bool  # the root reaches the stale values by sums, means and stacks only
    starved: list[
        TensorLike
    ]  # parameters that would lose all gradient if the boundary were detached
    all_stale: bool  # nothing that is trained is reached but through the boundary
    fresh_at_consumer: bool  # the consuming line also takes fresh values of the same origin
    held: Held | None
    holder_is_live: bool  # the holder has this very tensor, not its successor
    inside_checkpoint: bool
    above: dict[int, TensorLike] = field(default_factory=dict)  # leaves above the boundary, by id

    @property
    def log(self) -> LineLog:
        """The log of the thread in which it failed."""
        return self.call.log


def releaser_of(number: int, calls: list[Call]) -> Call | None:
    """The last of the calls that went through a node and did not retain it."""
    for call in reversed(calls):
        if not call.retain and in_ranges(call.ranges, number) and not call.failed:
            return call
    return None


def gather(watched: Watched) -> SecondBackward | None:
    """The evidence, or None if the nodes tell no story (another thread, compiled code)."""
    failure = watched.recorder.failure
    if failure is None:
        return None
    call, nodes = failure.call, failure.nodes
    earlier = [c for c in watched.recorder.calls[: call.index] if c.log is call.log]
    passed: dict[Node, Call] = {}
    for node, number in nodes.items():
        if number < LEAF:
            freer = releaser_of(number, earlier)
            if freer is not None:
                passed[node] = freer
    released = {node: call for node, call in passed.items() if state_of(node) == "released"}
    # a node that packs its values by hooks, or writes into a view, does not tell its state
    released = released or {node: call for node, call in passed.items() if is_closed(node)}
    return assemble(watched, failure, released or passed) if passed else None


def is_closed(node: Node) -> bool:
    """Whether a node may have saved values that cannot be looked at."""
    if node.name().endswith("CopySlices"):
        return True
    for name in saved_names(node):
        raw = getattr(node, f"_raw_{name}", None)
        first = raw[0] if isinstance(raw, (tuple, list)) and raw else raw
        if getattr(first, "unpack_hook", None) is not None:
            return True
    return False


def assemble(watched: Watched, failure: Failure, released: dict[Node, Call]) -> SecondBackward:
    """The evidence about nodes that are of no use any more, each with the call that did that."""
    call, nodes = failure.call, failure.nodes
    log = call.log
    earlier = [c for c in watched.recorder.calls[: call.index] if c.log is log]
    raised = max(released, key=lambda node: nodes[node])
    freer = released[raised]
    repetition = repeats.between(freer, call)
    visited = {
        node
        for node, number in nodes.items()
        if number < LEAF and any(in_ranges(c.ranges, number) for c in earlier if not c.failed)
    }
    boundary = _boundary(nodes, freer, repetition, visited, set(released))
    newest = sorted(boundary, key=lambda node: -nodes[node])
    made = log.stack_of(nodes[newest[0]]) if newest else []
    numbers = sorted(nodes[user] for node in newest[:3] for user in boundary[node])
    consumers = [stack for stack in (log.stack_of(number) for number in numbers) if stack]
    above = leaves_above(newest)
    steps = watched.recorder.gradients.steps[freer.steps : call.steps]
    moved = {
        key for key, version in call.versions.items() if freer.versions.get(key, version) != version
    }
    reached = _reached(failure.roots, set(newest))
    held, is_live = _holder(watched, failure, newest, log, nodes, repetition)
    return SecondBackward(
        failure=failure,
        call=call,
        freer=freer,
        node=raised,
        boundary=newest,
        made=made,
        consumers=consumers,
        repetition=repetition,
        root_sent_before=any(root in visited for root in failure.roots),
        root_is_scaled=_is_copy_of_visited(failure.roots, visited),
        made_inside=repetition is not None and repetition.holds(made),
        made_by_outer_loop=repetition is not None
        and repeats.made_by_outer_loop(made, call, repetition),
        made_in_earlier_outer=repetition is not None
        and bool(newest)
        and repeats.outer_went_round(made, nodes[newest[0]], freer, repetition),
        in_one_generator=repetition is not None
        and _in_one_generator(made, consumers, repetition, log),
        made_again=_made_again(newest, log, freer),
        stepped_between=bool(set(above) & moved)
        or any(set(above) & step.parameters for step in steps),
        any_step_between=bool(steps or moved),
        parameters_moved=bool(steps or moved),
        only_sums=_only_sums(failure.roots, set(newest)),
        starved=[leaf for key, leaf in above.items() if key not in reached],
        all_stale=bool(above) and not reached,
        fresh_at_consumer=_fresh_at_consumer(consumers, newest, nodes, freer.end, log, held),
        held=held,
        holder_is_live=is_live,
        inside_checkpoint=call.nested,
        above=above,
    )


def _boundary(
    nodes: dict[Node, int],
    freer: Call,
    repetition: Repetition | None,
    visited: set[Node],
    released: set[Node],
) -> dict[Node, list[Node]]:
    """The stale values, each with those that use it in the new graph.

    Over a loop, what was made before the freeing call is old: a state made after its last use was
    not visited by that call. Within one pass both losses were built before the first backward, so
    only what was visited is old.
    """
    found: dict[Node, list[Node]] = {}
    for node, number in nodes.items():
        if number >= LEAF:
            continue
        for following, _ in node.next_functions:
            if following is None:
                continue
            if repetition is not None:
                crosses = number >= freer.end and nodes[following] < freer.start
            else:
                crosses = node not in visited and following in visited
            if crosses:
                found.setdefault(following, []).append(node)
    return {
        node: users for node, users in found.items() if any(n in released for n in walk([node]))
    }


def _is_copy_of_visited(roots: Iterable[Node | None], visited: set[Node]) -> bool:
    """Whether a root is only a scaled, shifted or reduced copy of a value that was sent back."""
    for root in roots:
        node = root
        for _ in range(4):
            if node is None:
                break
            inner = [n for n, _ in node.next_functions if n is not None]
            if len(inner) != 1 or not node.name().startswith(("Mul", "Div", "Neg", *ADDING)):
                break  # something new is computed from it
            node = inner[0]
            if node in visited:
                return _is_number(node)
    return False


def _is_number(node: Node) -> bool:
    """Whether a node gave one number, as a loss is one; True where the engine does not tell."""
    known: Sequence[Any] = getattr(node, "_input_metadata", ())
    return len(known) != 1 or all(size == 1 for size in known[0].shape)


def _only_sums(roots: Iterable[Node | None], boundary: set[Node]) -> bool:
    waiting, seen = [root for root in roots if root is not None], set()
    while waiting:
        node = waiting.pop()
        if node in boundary:
            return True
        if node in seen or not node.name().startswith(ADDING):
            continue
        seen.add(node)
        parts = node.next_functions[:1] if node.name().startswith("Div") else node.next_functions
        waiting += [following for following, _ in parts if following is not None]
    return False


def _reached(roots: Iterable[Node | None], boundary: set[Node]) -> set[int]:
    """The ids of the leaves that the root reaches without going through the boundary."""
    waiting, seen = [root for root in roots if root is not None], set[Node]()
    reached: set[int] = set()
    while waiting:
        node = waiting.pop()
        if node in seen or node in boundary:
            continue
        seen.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            reached.add(id(leaf))
        waiting += [following for following, _ in node.next_functions if following is not None]
    return reached


def _line_key(log: LineLog, site: tuple[int, int, int] | None) -> tuple[object, int] | None:
    return None if site is None else (log.chains.of(site[0]).code, site[1])


def _made_again(boundary: list[Node], log: LineLog, freer: Call) -> bool:
    """Whether lines that made the stale history ran again after it was released."""
    old = {_line_key(log, log.site_of(n)) for n in walk(boundary[:3]).values() if n < LEAF}
    old.discard(None)
    later = log.sites[bisect_left(log.numbers, freer.end) :]
    return any(_line_key(log, site) in old for site in later)


def _in_one_generator(
    made: Stack, consumers: list[Stack], repetition: Repetition, log: LineLog
) -> bool:
    """Whether a generator that the loop goes over made a value and uses it in the next pass.

    The head of a `for` makes its iterator once, so that it is one run of the generator.
    """
    own = _generator_in_head(made, repetition, log)
    users = [_generator_in_head(stack, repetition, log) for stack in consumers]
    return own is not None and own in users


def _generator_in_head(stack: Stack, repetition: Repetition, log: LineLog) -> int | None:
    """The chain of the generator that the loop's head has called in a stack."""
    for (outer, place), (inner, _) in pairwise(stack):
        if outer == repetition.chain and repetition.loop is not None:
            is_generator = log.chains.of(inner).code.co_flags & CO_GENERATOR
            return inner if is_generator and place.line == repetition.loop.header else None
    return None


def _fresh_at_consumer(
    consumers: list[Stack],
    boundary: list[Node],
    nodes: dict[Node, int],
    since: int,
    log: LineLog,
    held: Held | None,
) -> bool:
    """Whether the consuming line also takes new values made by the line that made the stale one.

    Then the stale value is a step of a recurrence within the pass: detaching there stops training.
    Values in a collection count only if the new ones are in the same collection: layers of one
    class have the same lines, and a memory each.
    """
    items, stale = _items_of(held), set(boundary)
    lines = {(stack[-1][1].file, stack[-1][1].line) for stack in consumers}
    makers = {_line_key(log, log.site_of(nodes[node])) for node in boundary[:4]}
    turns = [edge.number for edge in log.edges]

    def run_of(number: int) -> tuple[int, int]:
        """Tells the executions of a line apart: the activation, and the turns of its loops."""
        site = log.site_of(number)
        return (0 if site is None else site[2], bisect_right(turns, number))

    takers = {n for n in nodes if any(following in stale for following, _ in n.next_functions)}
    first_runs = {run_of(nodes[node]) for node in takers if nodes[node] < LEAF}
    for node, number in nodes.items():
        if not since <= number < LEAF:
            continue
        site = log.site_of(number)
        if site is None or (log.chains.file_of(site[0]), site[1]) not in lines:
            continue
        if items is None and run_of(number) in first_runs:
            continue  # what a line takes beside the stale value comes from elsewhere
        own = _line_key(log, site)
        for following, _ in node.next_functions:
            if following is not None and since <= nodes[following] < LEAF:
                if items is not None and following not in items:
                    continue
                maker = _line_key(log, log.site_of(nodes[following]))
                # within one line only what an earlier execution of it has made
                if maker in makers and (maker != own or run_of(nodes[following]) != run_of(number)):
                    return True
    return False


def _items_of(held: Held | None) -> set[Node] | None:
    """The nodes of the tensors in the collection that holds the stale value, if one does.

    A value in a record of a collection (`buffer[3][1]`) counts as one of the whole collection.
    """
    if held is None or held.container is None:
        return None
    found: set[Node] = set()
    for outer in (held.container, _outermost(held)):
        waiting: list[Any] = [outer]
        for _ in range(3):
            inner: list[object] = []
            for value in waiting:
                if isinstance(value, dict):
                    inner += value.values()
                elif isinstance(value, (list, tuple, set, frozenset, deque)):
                    inner += value
                elif getattr(value, "grad_fn", None) is not None:
                    found.add(value.grad_fn)
            waiting = inner[:MOST_ITEMS]
        found |= {v.grad_fn for v in waiting if getattr(v, "grad_fn", None) is not None}
    return found


def fields_with_history(held: Held) -> list[str]:
    """The fields of the record that holds the value, as far as they carry history: `h` and `c`.

    A named tuple, or an object reached by a variable: `state.h` of `state`.
    """
    record: Any = held.container
    if not isinstance(record, tuple):
        path, dot, _ = held.path.rpartition(".")
        record = _reached_by(held, path) if dot and "[" not in held.path else None
        kept = getattr(record, "__dict__", {})
    else:
        kept = dict(zip(getattr(record, "_fields", ()), record, strict=False))
    return [name for name, value in kept.items() if getattr(value, "grad_fn", None) is not None]


def _outermost(held: Held) -> object:
    """The collection at the beginning of a path: what `self.buffer` of `self.buffer[3][1]` is."""
    return _reached_by(held, held.path.split("[")[0])


def _reached_by(held: Held, path: str) -> object:
    """What a path of attributes leads to, from the variables of the holder's frame."""
    if " " in path:  # a variable of another function
        return None
    name, *attributes = path.split(".")
    value = held.frame.f_locals.get(name)
    for attribute in attributes:
        parts = getattr(value, "__dict__", {})
        value = parts.get(attribute, parts.get("_modules", {}).get(attribute))
    return value


def frames_of(trace: TracebackType | None, watched: Watched) -> list[FrameType]:
    """The user's frames of a traceback, innermost first."""
    found = []
    while trace is not None:
        if watched.tracer.is_user_file(trace.tb_frame.f_code.co_filename):
            found.append(trace.tb_frame)
        trace = trace.tb_next
    return found[::-1]


@dataclass(frozen=True)
class _Carrying:
    """A frame without the variables that every pass of the loop sets anew."""

    f_code: CodeType
    f_locals: dict[str, object]


def _carrying(frame: FrameType, repetition: Repetition | None, call: Call) -> FrameType:
    """The frame of the loop, as far as its variables can carry a value from pass to pass."""
    if repetition is None or repetition.loop is None:
        return frame
    log, line = call.log, call.stack[repetition.level].line
    if frame.f_code is not log.chains.of(repetition.chain).code:
        return frame
    kept = {
        name: value
        for name, value in frame.f_locals.items()
        if not set_before_read(repetition.file, repetition.loop, name, line)
    }
    view: Any = _Carrying(frame.f_code, kept)
    found: FrameType = view
    return found


def _holder(
    watched: Watched,
    failure: Failure,
    boundary: list[Node],
    log: LineLog,
    nodes: dict[Node, int],
    repetition: Repetition | None,
) -> tuple[Held | None, bool]:
    """Who holds the stale value; if it is gone, who holds its successor made by the same line."""
    if not boundary:
        return None, False
    frames = frames_of(failure.error.__traceback__, watched)
    kind = watched.recorder.torch.Tensor
    live = with_history(tracked(lambda each: issubclass(each, kind)))
    wanted = _line_key(log, log.site_of(nodes[boundary[0]]))
    same = [tensor for tensor in live if tensor.grad_fn is boundary[0]]
    alike = [
        tensor
        for tensor in live
        if _line_key(log, log.site_of(tensor.grad_fn._sequence_nr())) == wanted
    ]
    # one line makes several values: the successor comes from the same kind of operation
    alike.sort(key=lambda tensor: tensor.grad_fn.name() != boundary[0].name())
    for tensors, is_live in ((same, True), (alike, False)):
        if not is_live:  # of a successor only what was there in the pass before tells something
            frames = [_carrying(frame, repetition, failure.call) for frame in frames]
        found = [held for t in tensors[:20] if (held := holder_of(t, frames, kind)) is not None]
        # a successor that is in a collection of this pass tells less than a variable that has it
        found.sort(key=lambda held: not is_live and held.container is not None)
        if found:
            return found[0], is_live
    return None, False
