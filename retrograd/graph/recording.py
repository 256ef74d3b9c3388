"""`with graph.record() as r:` around a piece of a program, and `graph.view(loss)` of what is now.

A record is data: each node with the times at which it was made, kept, freed, cut off and dropped;
what it saved; its line and module; each backward call; what the variables of the program held.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.graph import schema
from retrograd.graph.assembly import Facts, assemble
from retrograd.graph.lives import Life, Memory, Position
from retrograd.graph.pacing import Pace
from retrograd.graph.page import write_page
from retrograd.graph.recorder import RecordedCall, Recorder
from retrograd.graph.steps import KEPT
from retrograd.graph.summary import summarized
from retrograd.watching.endings import first_line
from retrograd.watching.engines import Engine, choose_engine
from retrograd.watching.lines import LEAF, latest_tracer
from retrograd.watching.monitoring import make_tracer
from retrograd.watching.places import is_user_file
from retrograd.watching.reading import Freeing, Reader, behind, node_of, reader_of
from retrograd.watching.variables import named_tensors

NAMES = {"torch": "PyTorch", "retrograd": "retrograd"}


class record:
    """Write down the life of the graph while a block runs, on retrograd or on PyTorch.

    engine   "torch" or "retrograd"; by default PyTorch if the program has imported it
    steps    how many steps of the training loop are kept: the first, the last, and that of the peak
    title    what the page is called
    every_step  record every step of a long run too; by default, after as many steps as are kept and
             a second of processor time, some are passed over, so that the run takes about twice its
             time at most (where an optimizer tells what a step is)

    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.graph.record(engine="retrograd") as r:
    ...     y = x.exp()
    ...     y.sum().backward()
    >>> for node in r.data.nodes:
    ...     print(node.name, node.shape, [saved.name for saved in node.saved], node.freed_by)
    AccumulateGrad (3,) [] 0
    ExpBackward0 (3,) ['result'] 1
    SumBackward0 () [] 1

    The program runs as without it; an exception goes on its way, and is in the record.
    """

    def __init__(
        self,
        engine: str | None = None,
        *,
        steps: int = KEPT,
        title: str = "",
        every_step: bool = False,
    ) -> None:
        if engine not in (None, "torch", "retrograd"):
            raise ValueError(f"engine must be 'torch' or 'retrograd', not {engine!r}")
        if steps < 3:
            raise ValueError(f"steps must be 3 or more: the first, the last, the peak; not {steps}")
        self.title = title
        self._engine = engine
        self._steps = steps
        self._every_step = every_step
        self._made: schema.Recording | None = None
        self._own_tracer = False
        self.recorder: Recorder | None = None

    def __enter__(self) -> record:
        self.start(choose_engine(self._engine), sys._getframe(1))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.finish(error, [sys._getframe(1)])

    def start(
        self,
        engine: Engine,
        frame: FrameType | None,
        wanted: frozenset[int] = frozenset(),
        is_user: Callable[[str], bool] = is_user_file,
    ) -> None:
        """Begin; the functions from `frame` outwards run already.

        Steps that are `wanted` are never left out; `is_user` says which files are the program's.
        """
        tracer = latest_tracer()
        if tracer is None or not tracer.running:  # else the doctor's, or that of an outer block
            tracer = make_tracer(engine.counter, is_user)
            self._own_tracer = True
        pace = Pace(self._steps) if self._own_tracer and not self._every_step else None
        self.recorder = Recorder(engine, tracer, self._steps, wanted, pace=pace)
        try:
            self.recorder.install()
        except BaseException:
            self.recorder.remove()
            raise
        _stop_in_forked_children(self.recorder)
        if self._own_tracer:
            tracer.start(frame)

    def finish(self, error: BaseException | None, scopes: list[Any]) -> None:
        """End; `scopes` are the variables to look at: frames, or things with `f_locals`."""
        recorder = self.recorder
        if recorder is None or not recorder.enabled:
            return
        if self._own_tracer:
            recorder.tracer.stop()
        if error is not None and not isinstance(error, (SystemExit, GeneratorExit)):
            recorder.note_error(first_line(error), _place_of(error))
            if recorder.asleep:
                recorder.unseen.append("not recorded: the step that failed (every_step=True)")
        recorder.look_at(scopes)
        recorder.unseen += [f"not seen: {sentence}" for sentence in recorder.tracer.unseen]
        recorder.remove()

    def mark(self, label: str) -> None:
        """Mark this moment on the time line of the page."""
        if self.recorder is not None:
            self.recorder.mark(label)

    @property
    def data(self) -> schema.Recording:
        """What was recorded, also while the block still runs."""
        recorder = self.recorder
        if recorder is None:
            raise RuntimeError("nothing is recorded yet: use it as `with graph.record() as r:`")
        if self._made is None:
            recorder.lives.settle()
            library = recorder.engine.torch
            name = recorder.reader.library
            version = _version(library, name)
            title = self.title or os.path.basename(sys.argv[0] or "") or "recording"
            made = assemble(Facts.of(recorder), title, NAMES[name], version)
            made.notes += _not_visible(name, len(recorder.tracer.logs) > 1)
            if recorder.enabled:
                return made
            self._made = made
        return self._made

    def to_json(self) -> str:
        """The record as the page reads it."""
        return schema.to_json(self.data)

    def view(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, one file that needs nothing else; gives its path."""
        return write_page(self.data, path)

    def __str__(self) -> str:
        return summarized(self.data)


def view(
    tensors: Any, path: str | os.PathLike[str] | None = None, *, title: str = ""
) -> schema.Recording:
    """Write a page that shows the graph behind a tensor, or several, as it is now.

    path    of the page; None only gives the data

    >>> x = torch.ones(3, requires_grad=True)
    >>> loss = x.exp().sum()
    >>> [(node.name, node.freed) for node in torch.graph.view(loss).nodes]
    [('AccumulateGrad', 0), ('ExpBackward0', 0), ('SumBackward0', 0)]

    Lines of PyTorch's nodes are known only where a recording, a watch or the doctor was running
    when they were made; modules only in recordings. What cannot be seen is said on the page and in
    `notes`.
    """
    given = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if not given:
        raise ValueError("view() needs at least one tensor")
    reader = reader_of(given[0])
    facts = _snapshot(reader, given, sys._getframe(1))
    library = sys.modules["torch" if reader.library == "torch" else "retrograd"]
    version = _version(library, reader.library)
    found = assemble(facts, title or "graph", NAMES[reader.library], version)
    if path is not None:
        write_page(found, path)
    return found


def _snapshot(reader: Reader, tensors: Iterable[Any], frame: FrameType) -> Facts:
    """The facts of a graph as it is, without a past."""
    roots = [node_of(reader, tensor) for tensor in tensors]
    nodes = sorted(behind(reader, roots), key=reader.number)
    index = {id(node): place for place, node in enumerate(nodes)}
    names = named_tensors(_user_frames(frame), reader.tensor)
    lives, calls = [], {}
    memory: dict[int, Memory] = {}
    for node in nodes:
        number = reader.number(node)
        shape, dtype = reader.describe(node)
        place = reader.place(node)
        leaf = reader.leaf(node)
        life = Life(
            index=index[id(node)],
            name=reader.name(node),
            number=number,
            born=Position(0, 0, -1 if number >= LEAF else number),
            shape=shape if leaf is None else tuple(leaf.shape),
            dtype=dtype or "",
            edges=[index[id(following)] for following, _ in reader.edges(node)],
            leaf=number >= LEAF,
            label=names[id(leaf)][1] if id(leaf) in names else "",
            place=place,
            unseen=reader.unseen(node) or "",
        )
        for saved in reader.saved(node):
            owner = "" if saved.owner in ("graph", "hook") else _owner(saved.owner)
            found = memory.setdefault(saved.storage, Memory(saved.storage_bytes, owner))
            found.owner = found.owner and owner  # what the graph made counts, whoever else has it
            life.saved.append((saved, found))
        if reader.state(node) == "freed":
            life.freed = Position(1, 0, 0)
            freeing = reader.freed_by(node)
            if freeing is not None:
                life.freed_by = freeing.ordinal
                calls[freeing.ordinal] = _past_call(freeing)
        lives.append(life)
    facts = Facts(lives, sorted(calls.values(), key=lambda call: call.number))
    facts.notes.append("a look at the graph as it was, not a recording of its life")
    if reader.library == "torch":
        facts.notes.append("not visible in PyTorch: which call freed a node")
        if any(not life.leaf and life.place is None for life in lives):
            facts.notes.append(
                "not visible in PyTorch: lines of nodes that were made while nothing recorded them"
            )
    facts.notes.append("modules are known in recordings only")
    return facts


def _user_frames(frame: FrameType | None) -> list[FrameType]:
    """The user's functions that run now, from a frame outwards."""
    found = []
    while frame is not None:
        if is_user_file(frame.f_code.co_filename):
            found.append(frame)
        frame = frame.f_back
    return found


def _owner(owner: str) -> str:
    return "a leaf" if owner == "leaf" else "an input"


def _past_call(freeing: Freeing) -> RecordedCall:
    """A call that happened before anybody looked."""
    places = [] if freeing.place is None else [freeing.place]
    start = Position(0, 1, freeing.ordinal)
    return RecordedCall(
        freeing.ordinal, freeing.kind, start, [], "", False, "", places, end=Position(1, 0, 0)
    )


_running: weakref.WeakSet[Recorder] = weakref.WeakSet()
_forks_are_noticed = False


def _stop_in_forked_children(recorder: Recorder) -> None:
    """A data loading worker is a copy of this process that nobody asks anything."""
    global _forks_are_noticed

    def after_fork() -> None:
        for known in list(_running):
            known.enabled = False
            known.tracer.stop()

    _running.add(recorder)
    if not _forks_are_noticed and hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=after_fork)
        _forks_are_noticed = True


def _version(library: Any, name: str) -> str:
    """Of the library itself: a program that runs on retrograd is told PyTorch's."""
    if name == "retrograd":
        try:
            return metadata.version("retrograd")
        except metadata.PackageNotFoundError:  # not installed, only on the path
            pass
    return str(library.__version__).partition("+")[0]


def _not_visible(library: str, threads: bool) -> list[str]:
    notes = ["nodes that were made and dropped between two backward calls may be missing"]
    if library == "torch":
        notes.append("not visible in PyTorch: what write-into-view nodes save")
    if library == "torch" and threads:
        notes.append(
            "not visible in PyTorch: the thread of a node; its line is looked for in the thread "
            "whose variables or whose backward call led to it"
        )
    return notes


def _place_of(error: BaseException) -> Place | None:
    """The innermost line of the user that an error came through."""
    found, trace = None, error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if is_user_file(code.co_filename):
            found = Place(code.co_filename, trace.tb_lineno, code.co_qualname)
        trace = trace.tb_next
    return found
