"""`Measurement`: the times that a statement took, and what they tell."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time is between 1 and 1000, and its length in seconds.

    >>> select_unit(0.00025)
    ('us', 1e-06)
    """
    for unit in ("s", "ms", "us"):
        if t >= _UNITS[unit]:
            return unit, _UNITS[unit]
    return "ns", _UNITS["ns"]


def unit_to_english(u: str) -> str:
    """The name of a unit in full."""
    return _ENGLISH[u]


@dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was measured, in words."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label with the one below it, or the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt
        return f"stmt:{f': {self.sub_label}' if self.sub_label else ''}\n{_indented(self.stmt)}"

    def setup_str(self) -> str:
        """How the setup is told."""
        if self.setup in ("", "pass") or not self.setup:
            return ""
        if "\n" in self.setup:
            return f"setup:\n{_indented(self.setup)}\n"
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """The title, with description and setup."""
        title = self.title
        parts = [title + ("\n" if "\n" in title else ""), self.description or "", self.setup_str()]
        return "\n".join(part for part in parts if part)


_FIELDS = frozenset(field.name for field in fields(TaskSpec))


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in text.splitlines())


@dataclass(init=True, repr=False)
class Measurement:
    """The times of one statement: each of `raw_times` is for `number_per_run` runs.

    >>> measured = Measurement(10, [5.0, 6.0, 7.0], TaskSpec("x + y", ""))
    >>> measured.median, measured.times
    (0.6, [0.5, 0.6, 0.7])
    """

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[object, object] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self) -> list[float]:
        """The times of one run."""
        return [t / self.number_per_run for t in self.raw_times]

    def _quantile(self, share: float) -> float:
        ordered = sorted(self.times)
        place = share * (len(ordered) - 1)
        low = int(place)
        high = min(low + 1, len(ordered) - 1)
        return ordered[low] + (ordered[high] - ordered[low]) * (place - low)

    @property
    def median(self) -> float:
        """The time in the middle."""
        return self._quantile(0.5)

    @property
    def mean(self) -> float:
        """The average time."""
        return statistics.fmean(self.times)

    @property
    def iqr(self) -> float:
        """The distance between the quarters: how much the times differ."""
        return self._quantile(0.75) - self._quantile(0.25)

    @property
    def title(self) -> str:
        """What was measured."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """What was measured, in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ so much that they tell little."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quarters are near each other."""
        return self.iqr / self.median < threshold

    def _warning(self) -> list[str]:
        if self.meets_confidence(0.1):
            return []
        share = self.iqr / self.median
        why = (
            "This suggests significant environmental influence."
            if share >= 0.25
            else "This could indicate system fluctuation."
        )
        text = f"  WARNING: Interquartile range is {share * 100:.1f}% of the median measurement."
        return [text, f"           {why}"]

    def __repr__(self) -> str:
        count = len(self.raw_times)
        unit, scale = select_unit(self.median)
        lines = [object.__repr__(self), self.task_spec.summarize()]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = self._quantile(0.25) / scale, self._quantile(0.75) / scale
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if count > 1 else ','} {threads} "
            f"thread{'s' if threads > 1 else ''}"
        )
        return "\n".join(lines + self._warning())

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of all."""
        groups: dict[TaskSpec, list[float]] = {}
        for measured in measurements:
            groups.setdefault(measured.task_spec, []).extend(measured.times)
        return [Measurement(1, times, task) for task, times in groups.items()]
