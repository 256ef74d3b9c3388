"""`graph.watch_growth`: a graph that grows at every step, told once, with the line."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, TracebackType
from typing import Any

from retrograd.diagnostics.errors import make_warning
from retrograd.diagnostics.report import Report, Span, advice
from retrograd.graph.wording import size
from retrograd.lifecycle.site import user_level
from retrograd.watching.engines import Original, choose_engine
from retrograd.watching.enlarged import Caches, saved_bytes
from retrograd.watching.heap import tracked, with_history
from retrograd.watching.piles import Growing, Pile, StepGrowth
from retrograd.watching.places import is_user_code
from retrograd.watching.reading import RetrogradReader, behind, reader_with_lines

__all__ = ["Growing", "GrowthWatch", "grown", "warn_of_growth", "watch_growth"]


class GrowthWatch:
    """What `graph.watch_growth` has seen."""

    def __init__(self) -> None:
        self.growing: Growing | None = None
        self.looks: list[tuple[int, int]] = []
        """Steps, and the nodes of earlier steps that were held then."""
        self.saved: list[tuple[int, int]] = []
        """Steps, and the bytes that were saved then."""

    def __bool__(self) -> bool:
        return self.growing is not None

    def __str__(self) -> str:
        return "nothing grows" if self.growing is None else str(self.growing)


class watch_growth:
    """Notice a graph that gets longer, or saves more, at every step of a block, and warn once.

    engine   "torch" or "retrograd"; by default PyTorch if the program has imported it
    warn     whether to warn (RG120); else only the result tells

    A step is a backward call. The warning comes during the block as soon as it is certain (after 64
    steps or more), or at its end. Gradients that are accumulated, truncated sequences, windows of
    bounded length and graphs of changing size are no growth.

    >>> w = torch.ones(3, requires_grad=True)
    >>> losses = []
    >>> with torch.graph.watch_growth(engine="retrograd", warn=False) as g:
    ...     for _ in range(20):
    ...         loss = (w * w).sum()
    ...         losses.append(loss)
    ...         loss.backward()
    >>> g.growing.kind, g.growing.path, g.growing.nodes
    ('collected', 'losses[14]', 15)
    """

    def __init__(self, engine: str | None = None, *, warn: bool = True) -> None:
        self._engine = choose_engine(engine)
        self._warn = warn
        self._depth = 0
        self._undo: list[Callable[[], None]] = []
        self.seen = GrowthWatch()

    def __enter__(self) -> GrowthWatch:
        engine = self._engine
        reader, stop = reader_with_lines(engine, sys._getframe(1))
        if stop is not None:
            self._undo.append(stop)
        self._growth = StepGrowth(reader, engine.counter)
        self._undo.append(engine.watch(self._around))
        return self.seen

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._undo:
            self._undo.pop()()
        before = self.seen.growing
        self._tell(self._growth.finish())
        if self._warn and before is None and self.seen.growing is not None and error is None:
            warn_of_growth(self.seen.growing)

    def _around(
        self,
        outputs: Sequence[Any],
        retain: bool,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
        run: Original,
    ) -> object:
        if not self._depth and not create:  # not inside another call, nor one for an outer one
            trace = sys.gettrace()
            sys.settrace(None)  # it would be asked about every call in here
            try:
                found = self._growth.step(user_frames())
                self._tell(found)
            finally:
                sys.settrace(trace)
            if found is not None and self._warn:
                warn_of_growth(found)
        self._depth += 1
        try:
            return run()
        finally:
            self._depth -= 1

    def _tell(self, found: Growing | None) -> None:
        self.seen.looks, self.seen.saved = self._growth.looks, self._growth.saved
        if found is not None:
            self.seen.growing = found


def user_frames() -> Iterator[FrameType]:
    """The user's frames that run in this thread, the innermost first."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            yield frame
        frame = frame.f_back


_LABELS = {
    "carried": "takes in the graph of the step before",
    "collected": "is kept with its history",
    "enlarged": "takes in all that it was before",
}


def warn_of_growth(growing: Growing) -> None:
    """Warn at the line that links one step to the next."""
    line = growing.line
    spans: tuple[Span, ...] = ()
    name = f"`{growing.path}`" if growing.path else "something"
    if line is not None:
        spans = (Span(f"{name} {_LABELS[growing.kind]}", line, primary=True),)
    if growing.kind == "enlarged":
        head = f"the graph saves more at every step: {size(growing.bytes)} now"
        note = "What a step computes with is saved for backward; here that gets larger each time."
        helps = [advice(f"cut it to what the step needs: {growing.path}[-n:]")]
    else:
        head = f"the graph grows at every step: {growing.nodes} nodes of earlier steps are held"
        note = (
            "A computed tensor keeps everything it was computed from; what is kept from step to "
            "step with its history keeps all earlier steps, too."
        )
        helps = [
            advice("keep the number: .item()", kind="item-for-logging"),
            advice("or the values without their history: .detach()", kind="detach"),
        ]
    cause = "" if growing.kind == "enlarged" else "accumulated-history"
    facts = {"kind": growing.kind}
    report = Report("RG120", head, spans, note, helps, cause=cause, level="warning", facts=facts)
    warning = make_warning(str(growing), code="RG120", report=report)
    if line is None:
        warnings.warn(warning, stacklevel=user_level())
    else:
        warnings.warn_explicit(warning, type(warning), line.file, line.line)


def grown(ordinal: int, first: int, since: int, before: int, calls: int) -> bool:
    """Whether nodes numbered from `since` to `before`, made in `calls` calls, pile up; it warns.

    See `engine.growth`, which asks.
    """
    reader = RetrogradReader()
    objects = tracked(lambda kind: issubclass(kind, reader.tensor))
    live = with_history(objects)
    del objects
    pile = Pile(reader, live, before, first)
    held = sum(1 for node in pile.old if reader.number(node) >= since)
    if held * 2 < calls:
        return False
    growing = pile.describe(ordinal, held / calls, list(user_frames()))
    if growing is not None:
        warn_of_growth(growing)
    return growing is not None


class _Looks:
    """What the look before has seen, where bytes rise; it holds no tensor."""

    caches: Caches | None = None
    saved: tuple[int, int] = (0, 0)
    """The call of that look, and the bytes that were saved then."""


def enlarged(ordinal: int, rise: int) -> bool:
    """Whether graphs save more and more of a cache; it warns. See `engine.growth`, which asks.

    It does where the value of a variable holds what it held at the look before, a line computes it
    from itself, and what is saved makes up at least half of what the process has grown by.
    """
    reader = RetrogradReader()
    if _Looks.caches is None:
        _Looks.caches = Caches(reader)
    tensors = tracked(lambda kind: issubclass(kind, reader.tensor))
    roots = [reader.root(tensor) for tensor in with_history(tensors)]
    saved = saved_bytes(reader, behind(reader, roots))
    cache = _Looks.caches.look(tensors, list(user_frames()))
    (before, least), _Looks.saved = _Looks.saved, (ordinal, saved)
    if cache is None or 2 * (saved - least) < rise:
        return False
    pace = (saved - least) / (ordinal - before)
    warn_of_growth(Growing(ordinal, 0, pace, saved, cache.path, cache.line, "enlarged"))
    return True
