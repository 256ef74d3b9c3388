"""A line whose every backward goes through the graphs of all earlier ones again: they are kept.

`retain_graph=True` silences the error about a second backward where a value is carried from pass to
pass with its history. Then each call walks a longer graph than the one before, for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType

from retrograd.watching.graph import TWICE, Node, in_ranges
from retrograd.watching.records import Call, Failure
from retrograd.watching.torch_types import TensorLike

LOOKED_AT = 6  # the call of a line that is kept for the report, if all before it grew


@dataclass
class _Site:
    last: Call
    grew: int = 0  # times, without an exception


class Regrown:
    """Watches the calls that keep their graph, line by line."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, int], Failure] = {}  # as if the graph had not been kept
        self._sites: dict[tuple[int, int], _Site | None] = {}  # None: it does not grow

    def before_call(
        self,
        call: Call,
        roots: list[Node | None],
        tensors: Sequence[TensorLike],
        nodes: dict[Node, int],
        frames: list[FrameType],
    ) -> None:
        """Compare a call with the one of the same line before it."""
        if call.nested or call.kind != "backward" or call.site == (0, 0):
            return
        site = self._sites.get(call.site, _Site(call))
        if site is None:
            return
        if site.last is not call and not _goes_on(site.last, call):
            self._sites[call.site] = None
            self.found.pop(call.site, None)
            return
        site.grew += site.last is not call
        site.last = call
        self._sites[call.site] = site
        if site.grew == LOOKED_AT:
            error = RuntimeError(TWICE).with_traceback(_trace(frames))
            self.found[call.site] = Failure(call, error, roots, list(tensors), dict(nodes))


def _goes_on(before: Call, now: Call) -> bool:
    """Whether a call goes through all that the one before it went through, and more."""
    if not (before.retain and now.retain) or now.create or now.nodes <= before.nodes:
        return False
    if now.steps <= before.steps or before.log is not now.log or not before.ranges:
        return False
    return in_ranges(now.ranges, before.ranges[0][0]) and now.ranges[0][0] < before.start


def _trace(frames: list[FrameType]) -> TracebackType | None:
    """The frames that run now, outermost first, as an error raised here would carry them."""
    trace: TracebackType | None = None
    for frame in reversed(frames):
        trace = TracebackType(trace, frame, max(frame.f_lasti, 0), frame.f_lineno)
    return trace
