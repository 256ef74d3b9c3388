"""What is recorded of a graph's life, and the file format in which the page reads it.

The idea: facts with times, not a log to replay. One clock counts recorded events (a node
made, a node freed, a backward begun ...). A node carries the times at which something happened to
it, so its state at any time is a few comparisons, and the page's slider needs no replay.

Times are ticks of that clock, from 1 on; 0 means never. Indices point into the lists of the same
`Recording`; -1 means none. What a library does not show is said with its reason (`Node.unknown`,
`Recording.notes`), never guessed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypedDict

FORMAT = 1  # of the file; the page refuses another

GroupKind = Literal["step", "module", "pass"]
EventKind = Literal["step", "detach", "write", "error", "mark"]


@dataclass(slots=True)
class Place:
    """A line of the program."""

    file: int  # index into `Recording.files`
    line: int  # from 1 on


@dataclass(slots=True)
class SourceFile:
    """A file of the program, with its text: the page shows lines of it."""

    name: str  # as a person would say it: "train.py", "models/attention.py"
    text: str
    path: str = ""  # as the program has it; the page does not get it


@dataclass(slots=True)
class Storage:
    """Memory that saved values are in. A value saved twice, or a view of it, names the same one."""

    bytes: int
    owner: str = ""  # the parameter, buffer or input whose own memory it is: not counted as saved


@dataclass(slots=True)
class Saved:
    """One value that a node saved for backward."""

    name: str  # "self", "result", "weight"
    shape: tuple[int, ...] | None
    dtype: str
    bytes: int  # of the value itself; its storage may be larger, when it is a view
    storage: int = -1  # -1: not visible which
    preview: str = ""  # the first few numbers, as text


@dataclass(slots=True)
class Node:
    """One node of the graph, or one leaf (`AccumulateGrad`), with the times of its life."""

    name: str  # "TanhBackward0", "AccumulateGrad"
    born: int
    shape: tuple[int, ...] | None = None  # of the result
    dtype: str = ""
    edges: list[int] = field(default_factory=list)  # next_functions: nodes with smaller indices
    saved: list[Saved] = field(default_factory=list)
    group: int = -1  # the innermost one
    places: list[Place] = field(default_factory=list)  # innermost line of the program first
    label: str = ""  # name of a leaf: "model.head.weight"
    leaf: bool = False
    kept: int = 0  # first walked by a backward that keeps the graph
    freed: int = 0  # walked by a backward that does not keep it; with nothing saved: passed
    freed_by: int = 0  # number of that call
    cut: int = 0  # its result was detached
    gone: int = 0  # nothing held it any more
    # what is not visible here, and why: {"saved": "not visible in PyTorch: ..."}; the keys are
    # fields of this class, or "state", or "holders"
    unknown: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Group:
    """A box around nodes: a step of the loop, a *call* of a module, or a pass of a loop in one.

    Groups are calls, not modules: a cell called thirteen times is thirteen groups, otherwise
    folding would make cycles. A module that calls its children again has a `pass` for each round.
    """

    name: str  # "step 3", "blocks.0", "[2]"
    kind: GroupKind
    parent: int = -1
    type: str = ""  # class of the module


@dataclass(slots=True)
class Failure:
    """How a backward call failed."""

    message: str
    node: int = -1  # at which node, where that is known
    code: str = ""  # of retrograd's report: "RG101"


@dataclass(slots=True)
class Call:
    """A backward call."""

    number: int  # from 1 on
    start: int
    end: int
    roots: list[int]
    of: str  # what it was called on: "loss"
    walked: int  # nodes that ran
    retain: bool = False
    how: str = ""  # the arguments that matter: "retain_graph=True", "retain_graph=[h]"
    kind: str = "backward"  # or "grad"
    place: Place | None = None
    failure: Failure | None = None


@dataclass(slots=True)
class Event:
    """What is marked on the time line, besides backward calls."""

    time: int
    kind: EventKind
    label: str = ""
    node: int = -1
    place: Place | None = None


@dataclass(slots=True)
class Sweep:
    """Which variables held which nodes at one time. It counts until the next sweep."""

    time: int
    held: list[tuple[str, int]]  # ("trainer.history[3]", node)


@dataclass(slots=True)
class Recording:
    """The life of one program's graph."""

    title: str  # what a tab of the page says
    library: str  # "retrograd", "PyTorch"
    library_version: str
    end: int = 0  # the last time
    files: list[SourceFile] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)  # in order of creation
    groups: list[Group] = field(default_factory=list)
    storages: list[Storage] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    sweeps: list[Sweep] = field(default_factory=list)
    cuts: list[tuple[int, int]] = field(default_factory=list)  # detached node, node that used it
    notes: list[str] = field(default_factory=list)  # what is not visible in all of it

    def _repr_html_(self) -> str:
        """What a notebook shows: the page."""
        from retrograd.graph.rich import page_html

        return page_html(self)


# ---------------------------------------------------------------------------------------------
# The file. Strings, places and keys are written once, because a graph repeats itself.

NODE_FIELDS = (
    "name shape dtype group places edges saved born kept freed freed_by cut gone label leaf unknown"
).split()
SAVED_FIELDS = "name shape dtype bytes storage preview".split()

Cell = int | list[int] | list[list[int]]
PlaceRow = tuple[int, int] | None


class CallRow(TypedDict):
    """A `Call` in the file."""

    number: int
    kind: str
    start: int
    end: int
    roots: list[int]
    of: str
    walked: int
    retain: bool
    how: str
    place: PlaceRow
    failure: tuple[str, int, str] | None


class EventRow(TypedDict):
    """An `Event` in the file."""

    time: int
    kind: EventKind
    label: str
    node: int
    place: PlaceRow


class Packed(TypedDict):
    """A `Recording` in the file. Texts in rows are indices into `strings`."""

    title: str
    library: str
    library_version: str
    end: int
    files: list[tuple[str, str]]
    strings: list[str]
    chains: list[list[int]]  # places of a node: file, line, file, line ...
    node_fields: list[str]
    saved_fields: list[str]
    nodes: list[list[Cell]]
    groups: list[tuple[str, GroupKind, int, str]]
    storages: list[tuple[int, str]]
    calls: list[CallRow]
    events: list[EventRow]
    sweeps: list[tuple[int, list[tuple[str, int]]]]
    cuts: list[tuple[int, int]]
    notes: list[str]


def _shape(shape: tuple[int, ...] | None) -> str:
    return "?" if shape is None else "×".join(map(str, shape)) or "scalar"  # noqa: RUF001


def _place(place: Place | None) -> PlaceRow:
    return None if place is None else (place.file, place.line)


class _Packer:
    """Writes each text and each chain of places once."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {}
        self.chains: dict[tuple[int, ...], int] = {}

    def text(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings))

    def chain(self, places: Sequence[Place]) -> int:
        flat = tuple(number for place in places for number in (place.file, place.line))
        return self.chains.setdefault(flat, len(self.chains))

    def saved(self, saved: Saved) -> list[int]:
        words = (self.text(text) for text in (saved.name, _shape(saved.shape), saved.dtype))
        return [*words, saved.bytes, saved.storage, self.text(saved.preview)]

    def node(self, node: Node) -> list[Cell]:
        return [
            *(self.text(text) for text in (node.name, _shape(node.shape), node.dtype)),
            node.group,
            self.chain(node.places),
            list(node.edges),
            [self.saved(saved) for saved in node.saved],
            *(node.born, node.kept, node.freed, node.freed_by, node.cut, node.gone),
            self.text(node.label),
            int(node.leaf),
            [self.text(text) for pair in node.unknown.items() for text in pair],
        ]


def _call(call: Call) -> CallRow:
    failure = call.failure
    return {
        "number": call.number,
        "kind": call.kind,
        "start": call.start,
        "end": call.end,
        "roots": call.roots,
        "of": call.of,
        "walked": call.walked,
        "retain": call.retain,
        "how": call.how,
        "place": _place(call.place),
        "failure": None if failure is None else (failure.message, failure.node, failure.code),
    }


def _event(event: Event) -> EventRow:
    return {
        "time": event.time,
        "kind": event.kind,
        "label": event.label,
        "node": event.node,
        "place": _place(event.place),
    }


def packed(recording: Recording) -> Packed:
    """A recording as the file has it."""
    packer = _Packer()
    nodes = [packer.node(node) for node in recording.nodes]
    return {
        "title": recording.title,
        "library": recording.library,
        "library_version": recording.library_version,
        "end": recording.end,
        "files": [(file.name, file.text) for file in recording.files],
        "strings": list(packer.strings),
        "chains": [list(chain) for chain in packer.chains],
        "node_fields": NODE_FIELDS,
        "saved_fields": SAVED_FIELDS,
        "nodes": nodes,
        "groups": [(g.name, g.kind, g.parent, g.type) for g in recording.groups],
        "storages": [(storage.bytes, storage.owner) for storage in recording.storages],
        "calls": [_call(call) for call in recording.calls],
        "events": [_event(event) for event in recording.events],
        "sweeps": [(sweep.time, sweep.held) for sweep in recording.sweeps],
        "cuts": recording.cuts,
        "notes": recording.notes,
    }


def to_json(recordings: Recording | Sequence[Recording]) -> str:
    """The text of the file: one recording, or several, which the page shows side by side."""
    several = [recordings] if isinstance(recordings, Recording) else recordings
    data = {"format": FORMAT, "recordings": [packed(recording) for recording in several]}
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)
