"""`graph.watch`: what the graph of each step keeps, and how it changes from step to step."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from retrograd.diagnostics.report import Place
from retrograd.graph.ledgers import Ledger, ledger_of
from retrograd.graph.wording import size, where
from retrograd.watching.engines import Original, choose_engine
from retrograd.watching.modules import ModuleLog
from retrograd.watching.places import user_place
from retrograd.watching.reading import behind, node_of, reader_with_lines


@dataclass(frozen=True)
class Step:
    """One backward call (or `autograd.grad`), with what its graph kept just before it ran."""

    number: int  # from 1 on
    kind: str  # "backward" or "grad"
    place: Place | None
    retain: bool
    ledger: Ledger = field(repr=False)
    change: int = 0
    """Bytes more than at the call before, of the same line."""

    @property
    def bytes(self) -> int:
        """Kept by the graph just before the call."""
        return self.ledger.total

    @property
    def nodes(self) -> int:
        """Of the graph behind what the call began from."""
        return self.ledger.nodes


class Watch:
    """What `graph.watch()` has seen so far."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    @property
    def peak(self) -> Step | None:
        """The step whose graph kept most."""
        return max(self.steps, key=lambda step: step.bytes, default=None)

    def between(self, first: int, second: int) -> dict[str, int]:
        """How the bytes of each line changed between two steps, by their numbers from 1 on."""
        known = {step.number: step for step in self.steps}
        for number in (first, second):
            if number not in known:
                raise ValueError(
                    f"no step {number} is kept: {len(known)} are, up to {max(known, default=0)}"
                )
        before = {row.key: row.bytes for row in known[first].ledger.by("line")}
        after = {row.key: row.bytes for row in known[second].ledger.by("line")}
        changes = {key: after.get(key, 0) - before.get(key, 0) for key in {**before, **after}}
        return {key: change for key, change in changes.items() if change}

    def __str__(self) -> str:
        if not self.steps:
            return "no backward call was made"
        lines = [f"{'call':>5}  {'nodes':>7}  {'saved':>10}  {'change':>10}  line"]
        shown = self.steps if len(self.steps) <= 20 else [*self.steps[:10], None, *self.steps[-10:]]
        for step in shown:
            if step is None:
                lines.append(f"{'...':>5}")
                continue
            change = f"{'-' if step.change < 0 else '+'}{size(abs(step.change))}"
            lines.append(
                f"{step.number:>5}  {step.nodes:>7,}  {size(step.bytes):>10}  "
                f"{change if step.change else '':>10}  {where(step.place)}"
            )
        peak = self.peak
        assert peak is not None
        return "\n".join([*lines, f"the most at call {peak.number}:", str(peak.ledger)])

    def _repr_html_(self) -> str:
        from retrograd.graph.rich import watch_html

        return watch_html(self)

    def to_json(self) -> list[dict[str, Any]]:
        """The steps as plain data."""
        return [
            {
                "number": step.number,
                "kind": step.kind,
                "place": None if step.place is None else step.place.to_json(),
                "retain": step.retain,
                "change": step.change,
                **step.ledger.to_json(),
            }
            for step in self.steps
        ]


class watch:
    """Write down what the graph keeps at each backward call of a block.

    engine   "torch" or "retrograd"; by default PyTorch if the program has imported it
    keep     how many steps to keep: the first, the last and the one that kept most

    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    >>> with torch.graph.watch(engine="retrograd") as w:
    ...     for _ in range(3):
    ...         model(torch.ones(2, 4)).sum().backward()
    >>> [(step.nodes, step.bytes, step.change) for step in w.steps]
    [(6, 64, 0), (6, 64, 0), (6, 64, 0)]
    >>> w.peak.ledger.by("module")
    [Row(key='Sequential.1', bytes=64, values=1, share=1.0)]
    """

    def __init__(self, engine: str | None = None, *, keep: int = 1000) -> None:
        self._engine = choose_engine(engine)
        self._keep = keep
        self._depth = 0
        self._last: dict[Place | None, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._number = 0
        self.seen = Watch()

    def __enter__(self) -> Watch:
        engine = self._engine
        self._modules = ModuleLog(engine)
        self._reader, stop = reader_with_lines(engine, sys._getframe(1))
        if stop is not None:
            self._undo.append(stop)
        self._undo += [self._modules.start(), engine.watch(self._around)]
        return self.seen

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._undo:
            self._undo.pop()()

    def _around(
        self,
        outputs: Sequence[Any],
        retain: bool,
        create: bool,
        inputs: Sequence[Any],
        accumulates: bool,
        run: Original,
    ) -> object:
        if not self._depth:  # not inside another call: checkpoint's own
            self._note(outputs, retain, "backward" if accumulates else "grad")
        self._depth += 1
        try:
            return run()
        finally:
            self._depth -= 1

    def _note(self, outputs: Sequence[Any], retain: bool, kind: str) -> None:
        trace = sys.gettrace()
        sys.settrace(None)  # it would be asked about every call in here
        try:
            reader = self._reader
            tensors = [output for output in outputs if isinstance(output, reader.tensor)]
            nodes = behind(reader, [node_of(reader, tensor) for tensor in tensors])
            kept = ledger_of(reader, nodes, self._modules)
            place = user_place()
            change = kept.total - self._last.get(place, kept.total)
            self._last[place] = kept.total
            self._number += 1
            self.seen.steps.append(Step(self._number, kind, place, retain, kept, change))
            if len(self.seen.steps) > self._keep:
                middle = self._keep // 2
                del self.seen.steps[middle + (self.seen.steps[middle] is self.seen.peak)]
        finally:
            sys.settrace(trace)
