"""Which nodes of a recorded graph a place of a finding is about, and at which moment.

A place is a line; the graph has the nodes that the line made, each time it ran, and the backward
calls that it made. Which of them are meant follows from what happened at the place, and from the
call that failed. Where nothing in the record is of that line, there is no link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from retrograd.diagnostics.report import Place, Span
from retrograd.graph.schema import Call, Node, Recording

MOST = 40  # nodes that one place points at

NEEDED = frozenset(("used again", "needed", "sent back"))
SPOILED = frozenset(("written", "stepped"))


@dataclass(frozen=True)
class Link:
    """Nodes, the one that matters most first, and the time at which to look at them."""

    nodes: list[int] = field(default_factory=list)
    time: int = 0


class Links:
    """Looks places up in a recording."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._files = {file.path: index for index, file in enumerate(recording.files)}
        self._made: dict[tuple[int, int], list[int]] = {}  # by the innermost line
        self._around: dict[tuple[int, int], list[int]] = {}  # by a line that led there
        for index, node in enumerate(recording.nodes):
            if not node.leaf:
                for depth, at in enumerate(node.places):
                    lines = self._around if depth else self._made
                    lines.setdefault((at.file, at.line), []).append(index)

    def of(self, span: Span, tensor: str, failed: bool) -> Link | None:
        """The nodes of one place of a finding; `failed`: the program failed by it."""
        call = next((c for c in self.recording.calls if c.failure is not None), None)
        finding = _Failed(self, call if failed else None)
        return finding.link(span, tensor)

    def made_at(self, place: Place) -> list[int]:
        """The nodes that a line made, or else those that its calls made."""
        key = self._files.get(place.file, -1), place.line
        return self._made.get(key) or self._around.get(key, [])

    def calls_at(self, place: Place) -> list[Call]:
        """The backward calls that a line made."""
        key = self._files.get(place.file, -1), place.line
        return [
            call
            for call in self.recording.calls
            if call.place is not None and (call.place.file, call.place.line) == key
        ]

    def reach(self, roots: Iterable[int]) -> set[int]:
        """All nodes behind some, these included."""
        found, waiting = set(roots), list(roots)
        while waiting:
            for edge in self.recording.nodes[waiting.pop()].edges:
                if edge not in found:
                    found.add(edge)
                    waiting.append(edge)
        return found

    def step(self, node: int) -> int:
        """The outermost box of a node."""
        groups, group = self.recording.groups, self.recording.nodes[node].group
        while group >= 0 and groups[group].parent >= 0:
            group = groups[group].parent
        return group


class _Failed:
    """The call that failed, if one did, and the node at which it did."""

    def __init__(self, links: Links, call: Call | None) -> None:
        self.links = links
        self.nodes = links.recording.nodes
        self.call = call
        self.at = -1 if call is None or call.failure is None else call.failure.node
        self.behind = set() if call is None else links.reach(call.roots)

    @property
    def node(self) -> Node | None:
        """The node at which the call failed, where it is known."""
        return None if self.at < 0 else self.nodes[self.at]

    def link(self, span: Span, tensor: str) -> Link | None:
        """By what happened at the place."""
        ways: list[Callable[[Span], Link | None]] = [self._made, self._called, self._cut]
        if span.label == "freed":
            ways = [self._freed, self._called]
        elif span.label in NEEDED:
            ways = [self._needed, self._called, self._made]
        elif span.label in SPOILED:
            ways = [self._made, self._wrote, self._spoiled]
        elif span.label == "kept":
            ways = [lambda span: self._held(tensor), self._made, self._called]
        elif span.label == "cut":
            ways = [self._cut, self._made]
        found = (way(span) for way in ways)
        return next((link for link in found if link is not None and link.nodes), None)

    def _made(self, span: Span) -> Link | None:
        made = self.links.made_at(span.place)
        if not made:
            return None
        if self.call is None:  # each time that the line ran, the last one first
            return self._link(made[::-1], self.nodes[made[-1]].born)
        meant = self.at if self.at in made else max(self.behind.intersection(made), default=-1)
        if meant < 0:
            return self._link(made[::-1], self.nodes[made[-1]].born)
        step = self.links.step(meant)
        beside = [node for node in made if node != meant and self.links.step(node) == step]
        return self._link([meant, *beside], max(self.nodes[n].born for n in [meant, *beside]))

    def _freed(self, span: Span) -> Link | None:
        """What the call let go, first of all what is needed again."""
        calls = self.links.calls_at(span.place)
        by = 0 if self.node is None else self.node.freed_by
        call = next((c for c in calls if c.number == by), calls[0] if calls else None)
        if call is None:
            return None
        freed = [n for n, node in enumerate(self.nodes) if node.freed_by == call.number]
        freed.sort(key=lambda n: (n != self.at, n not in self.behind, not self.nodes[n].saved))
        return self._link(freed, call.end)

    def _needed(self, span: Span) -> Link | None:
        """The node at which the call failed, and the newer one that led there."""
        if self.call is None or self.node is None or self.call not in self._calls(span):
            return None
        by = self.node.freed_by
        freed = next((c.end for c in self.links.recording.calls if c.number == by), 0)
        users = [n for n in self.behind if self.at in self.nodes[n].edges]
        newer = [n for n in users if self.nodes[n].born > freed]
        return self._link([self.at, *(newer or users)], self.call.end)

    def _calls(self, span: Span) -> list[Call]:
        return self.links.calls_at(span.place)

    def _called(self, span: Span) -> Link | None:
        calls = self._calls(span)
        call = self.call if self.call in calls else calls[-1] if calls else None
        return None if call is None else self._link(call.roots, call.end)

    def _spoiled(self, span: Span) -> Link | None:
        """A write that is no node itself: the node whose saved value it changed."""
        if self.call is None or self.node is None:
            return None
        return self._link([self.at], self.call.start)

    def _cut(self, span: Span) -> Link | None:
        return self._marked("detach", span)

    def _wrote(self, span: Span) -> Link | None:
        return self._marked("write", span)

    def _marked(self, kind: str, span: Span) -> Link | None:
        """The nodes of what is marked on the time line, by a line."""
        file, line = self.links._files.get(span.place.file, -1), span.place.line
        events = [
            event
            for event in self.links.recording.events
            if event.kind == kind and event.node >= 0 and event.place is not None
            if (event.place.file, event.place.line) == (file, line)
        ]
        return self._link([e.node for e in events[::-1]], events[-1].time) if events else None

    def _held(self, tensor: str) -> Link | None:
        """What a variable holds, or all items of its list, at the last look at them."""
        items = f"{tensor.partition('[')[0]}["
        for sweep in reversed(self.links.recording.sweeps if tensor else []):
            held = [n for path, n in sweep.held if path == tensor or path.startswith(items)]
            if held:
                return self._link(held[::-1], sweep.time)
        return None

    def _link(self, nodes: Iterable[int], time: int) -> Link:
        return Link([node for node in nodes if not self.nodes[node].leaf][:MOST], time)
