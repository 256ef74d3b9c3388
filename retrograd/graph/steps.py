"""Where the steps of a training loop begin, and which of them are kept when there are many.

A step ends with `optimizer.step()`; where several optimizers take turns, with the last before one
of them begins again. A program without optimizers has the turns of the loop around its backward
call. Both are known only afterwards: a boundary is a position in what has already happened.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from retrograd.graph.lives import Position
from retrograd.watching.lines import BackEdge, LineLog, Step

END = Position(1 << 62, 0, 0)
KEPT = 20  # steps, where nothing else is asked for
MOST_SAMPLES = 4_000


@dataclass(eq=False, slots=True)
class StepSpan:
    """A step, or a row of steps that were left out."""

    start: Position
    first: int
    last: int
    dropped: bool = False


@dataclass(eq=False, slots=True)
class Sample:
    """The bytes that were held, and the nodes alive, at a time."""

    position: Position
    bytes: int
    nodes: int


class Steps:
    """The spans of all steps, in their order; rows that were left out are one span."""

    def __init__(self, keep: int = KEPT, wanted: frozenset[int] = frozenset()) -> None:
        self.keep = max(keep, 3)
        self.wanted = wanted  # steps that are never left out
        self.spans = [StepSpan(Position(-1, 0, 0), 0, 0)]
        self.samples: list[Sample] = []
        self.by_optimizer = False
        self.called_since = False  # a backward call came after the last end of a step
        self._stepped: set[int] = set()
        self._pending: Position | None = None
        self._last_calls: dict[tuple[int, int], tuple[int, list[Step]]] = {}

    def of(self, position: Position) -> StepSpan:
        """The span that a position lies in."""
        place = bisect_right(self.spans, position, key=lambda span: span.start) - 1
        return self.spans[max(place, 0)]

    def extent(self, span: StepSpan) -> tuple[Position, Position]:
        """Where a span begins, and where the next one does."""
        place = self.spans.index(span) + 1
        end = self.spans[place].start if place < len(self.spans) else END
        return span.start, end

    def sample(self, sample: Sample) -> None:
        """Note what is held now; of very many, only the largest stay."""
        self.samples.append(sample)
        if len(self.samples) > MOST_SAMPLES:
            largest = sorted(self.samples, key=lambda each: each.bytes)[MOST_SAMPLES // 2 :]
            self.samples = sorted(largest, key=lambda each: each.position)

    @property
    def peak(self) -> Sample | None:
        """When most was held."""
        return max(self.samples, key=lambda sample: sample.bytes, default=None)

    # ------------------------------------------------------------------------- boundaries

    def after_optimizer(self, optimizer: object, position: Position) -> bool:
        """An optimizer has stepped; whether that shows where an earlier step ended."""
        if not self.by_optimizer and not self.left_out():
            del self.spans[1:]  # turns of a loop that only gathers gradients
        self.by_optimizer = True
        closed = False
        if id(optimizer) in self._stepped:
            closed = self.close()
        self._stepped.add(id(optimizer))
        self._pending = position
        self.called_since = False
        return closed

    def before_call(
        self, site: tuple[int, int], stack: list[Step], log: LineLog
    ) -> BackEdge | None:
        """A backward is called: the jump by which its loop has turned since its last call."""
        self.called_since = True
        now = log.seal()
        last = self._last_calls.get(site)
        self._last_calls[site] = now, stack
        if last is None or self.by_optimizer:
            return None
        edges = log.edges_between(last[0], now)
        activations = {step.activation for step in last[1]}
        for step in reversed(stack):
            if step.activation in activations:
                # a loop's head is above what it turns; an expression of several lines is below
                own = [edge for edge in edges if edge.activation == step.activation]
                if own:
                    return min(reversed(own), key=lambda edge: edge.line)
        return None

    def begin(self, position: Position) -> None:
        """A new step begins at a position."""
        last = self.spans[-1]
        if position > last.start:
            self.spans.append(StepSpan(position, last.last + 1, last.last + 1))

    def close(self) -> bool:
        """The end that is pending is the end of a step."""
        if self._pending is None:
            return False
        self.begin(self._pending)
        self._stepped.clear()
        self._pending = None
        return True

    # ---------------------------------------------------------------------------- leaving out

    @property
    def number(self) -> int:
        """The number of the step that runs now, as far as it is known."""
        return self.spans[-1].last + (self._pending is not None)

    def pass_over(self) -> None:
        """The step that has just begun to be known was not recorded."""
        self.spans[-1].dropped = True
        if len(self.spans) > 1 and self.spans[-2].dropped:
            self.spans[-2].last = self.spans[-1].last
            del self.spans[-1]

    def victim(self, crowded: bool) -> StepSpan | None:
        """The step to leave out, if there are too many: not of the first, the last, the peak."""
        kept = [span for span in self.spans if not span.dropped]
        if len(kept) <= self.keep and not crowded:
            return None
        first, last = (self.keep - 1) // 2, self.keep // 2
        if len(kept) <= self.keep:
            first, last = 1, 2
        peak = self.peak
        for span in kept[first : max(len(kept) - last, 0)]:
            if span.first in self.wanted:
                continue
            if peak is None or self.of(peak.position) is not span:
                return span
        return None

    def drop(self, span: StepSpan) -> None:
        """Leave a step out; neighbours that are left out become one row."""
        self.samples = [s for s in self.samples if self.of(s.position) is not span]
        span.dropped = True
        place = self.spans.index(span)
        for other in (place + 1, place):
            if other < len(self.spans) and other:
                before, after = self.spans[other - 1], self.spans[other]
                if before.dropped and after.dropped:
                    before.last = after.last
                    del self.spans[other]

    def left_out(self) -> list[tuple[int, int]]:
        """The numbers of the steps that are missing, as first and last."""
        return [(span.first, span.last) for span in self.spans if span.dropped]
