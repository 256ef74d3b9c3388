"""Makes the record that the page shows out of what was written down while a program ran."""

from __future__ import annotations

import heapq
import linecache
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from retrograd.diagnostics.report import Place
from retrograd.graph import schema
from retrograd.graph.detaching import Cut
from retrograd.graph.lives import Life, Memory, Position, Written
from retrograd.graph.recorder import Look, RecordedCall, RecordedEvent, Recorder
from retrograd.graph.steps import Steps
from retrograd.watching.lines import Chains
from retrograd.watching.modules import ModuleCall


@dataclass
class Facts:
    """What is known of a graph, by positions instead of ticks."""

    lives: list[Life]
    calls: list[RecordedCall] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    cuts: list[tuple[Cut, int]] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    notes: list[str] = field(default_factory=list)
    chains: Chains = field(default_factory=Chains)

    @classmethod
    def of(cls, recorder: Recorder) -> Facts:
        """Those that a recorder has."""
        lives = recorder.lives
        return cls(
            list(lives.known.values()),
            recorder.calls,
            recorder.events,
            recorder.looks,
            lives.cuts,
            lives.written,
            recorder.steps,
            [*recorder.unseen, *_left_out(recorder)],
            recorder.tracer.chains,
        )


def assemble(facts: Facts, title: str, library: str, version: str) -> schema.Recording:
    """One recording of all facts."""
    return _Assembly(facts, schema.Recording(title, library, version)).made()


def _left_out(recorder: Recorder) -> list[str]:
    notes = []
    for first, last in recorder.steps.left_out():
        kept = "kept are the first steps, the last ones and that of the peak"
        if recorder.slept:
            kept = (
                "a long run is recorded in samples, so that it takes about twice its time at most"
            )
        notes.append(f"{_which(first, last)} left out: {kept}")
    for name, count in recorder.crowded_out.items():
        what = {"calls": "backward calls", "events": "detaches", "looks": "looks at variables"}
        notes.append(f"{count:,} {what[name]} are left out: more than can be kept in one step")
    if recorder.lives.too_many:
        notes.append(f"{recorder.lives.too_many:,} nodes are left out: the graph is too large")
    return notes


def _which(first: int, last: int) -> str:
    return f"step {first} is" if first == last else f"steps {first} to {last} are"


class _Assembly:
    def __init__(self, facts: Facts, recording: schema.Recording) -> None:
        self.facts = facts
        self.recording = recording
        self.order = _in_order(facts.lives)
        self.index = {life.index: place for place, life in enumerate(self.order)}
        self.ticks = {at: tick for tick, at in enumerate(sorted(self._positions()), start=1)}
        self.files: dict[str, int] = {}
        self.memory: dict[int, int] = {}
        self.groups = _Groups(recording.groups)

    def _positions(self) -> set[Position]:
        facts = self.facts
        found: set[Position | None] = {event.position for event in facts.events}
        found.update(look.position for look in facts.looks)
        found.update(row.write.position for row in facts.written)
        for life in facts.lives:
            found |= {life.born, life.kept, life.freed, life.cut, life.gone}
        for call in facts.calls:
            found |= {call.start, call.end}
        found.update(span.start for span in facts.steps.spans)
        return {position for position in found if position is not None}

    def made(self) -> schema.Recording:
        """Everything in its place."""
        facts, recording = self.facts, self.recording
        many = len(facts.steps.spans) > 1
        chains = []
        for life in self.order:
            step = facts.steps.of(life.born).first if many and not life.leaf else None
            chains.append((self.groups.chain(life.call, step), step))
        for life, (chain, step) in zip(self.order, chains, strict=True):
            recording.nodes.append(self._node(life, self.groups.box(chain, step)))
        recording.calls = [self._call(call) for call in facts.calls]
        recording.events = [self._event(event) for event in facts.events]
        recording.events += [self._write(row) for row in facts.written if row.life in self.index]
        if many:
            recording.events += self._steps()
        recording.events.sort(key=lambda event: event.time)
        for look in {look.position: look for look in facts.looks}.values():
            held = [(name, self.index[index]) for name, index in look.held if index in self.index]
            recording.sweeps.append(schema.Sweep(self.ticks[look.position], held))
        recording.sweeps.sort(key=lambda sweep: sweep.time)
        recording.cuts = [
            (self.index[cut.index], self.index[user])
            for cut, user in facts.cuts
            if cut.index in self.index and user in self.index
        ]
        recording.notes += facts.notes
        recording.end = len(self.ticks) + 1
        return recording

    def _time(self, position: Position | None) -> int:
        return 0 if position is None else self.ticks[position]

    def _node(self, life: Life, group: int) -> schema.Node:
        return schema.Node(
            name=life.name,
            born=self._time(life.born),
            shape=life.shape,
            dtype=life.dtype,
            edges=[self.index[edge] for edge in life.edges if edge in self.index],
            saved=[
                schema.Saved(s.name, s.shape, s.dtype, s.bytes, self._storage(memory))
                for s, memory in life.saved
            ],
            group=group,
            places=[self._place(place) for place in self._lines(life)],
            label=life.label,
            leaf=life.leaf,
            kept=self._time(life.kept),
            freed=self._time(life.freed),
            freed_by=life.freed_by,
            cut=self._time(life.cut),
            gone=self._time(life.gone),
            unknown=_unknown(life),
        )

    def _lines(self, life: Life) -> list[Place]:
        """The lines that made a node, innermost first."""
        if life.site is None:
            return [] if life.place is None else [life.place]
        return [place for _, place in self.facts.chains.stack(*life.site[:2])][::-1]

    def _storage(self, memory: Memory) -> int:
        found = self.memory.get(id(memory))
        if found is None:
            found = self.memory[id(memory)] = len(self.recording.storages)
            self.recording.storages.append(schema.Storage(memory.bytes, memory.owner))
        return found

    def _place(self, place: Place) -> schema.Place:
        found = self.files.get(place.file)
        if found is None:
            found = self.files[place.file] = len(self.files)
            text = "".join(linecache.getlines(place.file))
            self.recording.files.append(schema.SourceFile(_short(place.file), text, place.file))
        return schema.Place(found, place.line)

    def _call(self, call: RecordedCall) -> schema.Call:
        failure = None
        if call.message:
            node = -1 if call.failed_at is None else self.index.get(call.failed_at, -1)
            failure = schema.Failure(call.message, node, call.code)
        return schema.Call(
            number=call.number,
            start=self._time(call.start),
            end=self._time(call.end) or len(self.ticks) + 1,
            roots=[self.index[root] for root in call.roots if root in self.index],
            of=call.of,
            walked=call.walked,
            retain=call.retain,
            how=call.how,
            kind=call.kind,
            place=self._place(call.places[-1]) if call.places else None,
            failure=failure,
        )

    def _event(self, event: RecordedEvent) -> schema.Event:
        return schema.Event(
            time=self._time(event.position),
            kind=event.kind,
            label=event.label,
            node=-1 if event.cut is None else self.index.get(event.cut.index, -1),
            place=None if event.place is None else self._place(event.place),
        )

    def _write(self, row: Written) -> schema.Event:
        place = row.write.place
        return schema.Event(
            time=self._time(row.write.position),
            kind="write",
            label=f"written here by {row.write.how}: the saved {row.name}",
            node=self.index[row.life],
            place=None if place is None else self._place(place),
        )

    def _steps(self) -> Iterable[schema.Event]:
        for span in self.facts.steps.spans:
            time = self._time(span.start)
            if span.dropped:
                yield schema.Event(time, "mark", f"{_which(span.first, span.last)} left out")
            else:
                yield schema.Event(time, "step", f"step {span.first}")


def _unknown(life: Life) -> dict[str, str]:
    found = {"saved": life.unseen} if life.unseen else {}
    if life.doubtful:
        found["places"] = "not visible in PyTorch: which thread made a node; several were computing"
    return found


def _in_order(lives: list[Life]) -> list[Life]:
    """By their births, but each after those that it leads to."""
    known = {life.index: life for life in lives}
    users: dict[int, list[Life]] = {}
    waits: dict[int, int] = {}
    ready: list[tuple[Position, int]] = []
    for life in lives:
        edges = {edge for edge in life.edges if edge in known}
        waits[life.index] = len(edges)
        for edge in edges:
            users.setdefault(edge, []).append(life)
        if not edges:
            ready.append((life.born, life.index))
    heapq.heapify(ready)
    order = []
    while ready:
        _, index = heapq.heappop(ready)
        order.append(known[index])
        for user in users.get(index, ()):
            waits[user.index] -= 1
            if not waits[user.index]:
                heapq.heappush(ready, (user.born, user.index))
    return order


def _short(file: str) -> str:
    """A file's name as a person would say it."""
    relative = os.path.relpath(file)
    return os.path.basename(file) if relative.startswith("..") else relative


@dataclass
class _Passes:
    """The children that a call has called in the pass it is in."""

    children: set[str] = field(default_factory=set)
    calls: set[int] = field(default_factory=set)
    number: int = 0

    def enter(self, inner: ModuleCall) -> None:
        """A node of a child: a child that is called again begins a new pass."""
        if inner.number not in self.calls:
            self.calls.add(inner.number)
            if inner.name in self.children:
                self.children.clear()
                self.number += 1
            self.children.add(inner.name)


Chain = list[tuple[ModuleCall, int]]


class _Groups:
    """Boxes: steps, calls of modules, and passes where a call calls its children again."""

    def __init__(self, groups: list[schema.Group]) -> None:
        self.groups = groups
        self._found: dict[tuple[object, ...], int] = {}
        self._passes: dict[tuple[int | None, int], _Passes] = {}

    def chain(self, call: ModuleCall | None, step: int | None) -> Chain:
        """The calls around a node, outermost first, each with its pass; nodes come by births."""
        calls: list[ModuleCall] = []
        while call is not None:
            calls.insert(0, call)
            call = call.outer
        found: Chain = []
        for place, outer in enumerate(calls):
            passes = self._passes.setdefault((step, outer.number), _Passes())
            if place + 1 < len(calls):
                passes.enter(calls[place + 1])
            found.append((outer, passes.number))
        return found

    def box(self, chain: Chain, step: int | None) -> int:
        """The innermost box of a node; all chains are known by now."""
        parent = -1
        if step is not None:
            parent = self._made(("step", step), f"step {step}", "step", -1, "")
        for call, number in chain:
            key = step, call.number
            parent = self._made(("call", *key), call.name, "module", parent, call.kind)
            if self._passes[key].number:
                parent = self._made(("pass", *key, number), f"[{number}]", "pass", parent, "")
        return parent

    def _made(
        self, key: tuple[object, ...], name: str, kind: schema.GroupKind, parent: int, type_: str
    ) -> int:
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = len(self.groups)
            self.groups.append(schema.Group(name, kind, parent, type_))
        return found
