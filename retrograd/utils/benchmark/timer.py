"""`Timer`: how long a statement takes, measured many times."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable
from time import perf_counter

from retrograd.utils.benchmark.measurement import Measurement, TaskSpec

timer = perf_counter


class Timer:
    """Measures a statement, as Python's `timeit` does, and tells how much the times differ.

    >>> from retrograd.utils.benchmark import Timer
    >>> measured = Timer("x * 2", globals={"x": torch.ones(3)}, label="double").timeit(10)
    >>> measured.title, measured.number_per_run
    ('double', 10)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = perf_counter,
        globals: dict[str, object] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: object = "python",
    ) -> None:
        if str(language).lower() not in ("py", "python", "language.python"):
            raise NotImplementedError(
                "torch.utils.benchmark.Timer is not supported by retrograd for C++: give a "
                "statement in Python"
            )
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can "
                "simply be moved to `setup`."
            )
        names = {} if globals is None else dict(globals)
        if "torch" not in names:
            names["torch"] = sys.modules["retrograd"]  # the package itself, as a program sees it
        self._clock = timer
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )

    def _timeit(self, number: int) -> float:
        # a clock may stand still for a moment, and a time of zero has no scale
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """Run the statement this many times, after some to warm up."""
        self._timeit(number=max(int(number // 100), 2))
        return Measurement(number, [self._timeit(number)], self._task_spec)

    def autorange(self, callback: Callable[[int, float], object] | None = None) -> Measurement:
        """Run it until the measurement takes long enough."""
        return self.blocked_autorange(callback)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Measure again and again: refused, as in PyTorch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def blocked_autorange(
        self, callback: Callable[[int, float], object] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Run it in blocks, each long enough for the clock, until `min_run_time` is over."""
        number = self._block_size(min_run_time)
        times: list[float] = []
        total = 0.0
        while not times or total < min_run_time:
            times.append(self._timeit(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable[[int, float], object] | None = None,
    ) -> Measurement:
        """Run it in blocks until the times agree, or `max_run_time` is over."""
        number = self._block_size(0.05)
        times: list[float] = []
        total = 0.0
        while total < max_run_time:
            times.append(self._timeit(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])
            measured = Measurement(number, times, self._task_spec)
            if len(times) > 3 and total > min_run_time and measured.meets_confidence(threshold):
                break
        return Measurement(number, times, self._task_spec)

    def _block_size(self, min_run_time: float) -> int:
        """How many runs make a block: the clock's own time is then a thousandth of it."""
        clock = min(self._overhead() for _ in range(5))
        number = 1
        while True:
            taken = self._timeit(number)
            if taken > min_run_time or (clock / taken <= 1e-4 and taken >= min_run_time / 1000):
                return number
            number *= 10

    def _overhead(self) -> float:
        return max(timeit.Timer("pass", timer=self._clock).timeit(1), 1e-9)

    def collect_callgrind(self, *args: object, **options: object) -> None:
        """Count instructions: refused."""
        raise NotImplementedError(
            "torch.utils.benchmark.Timer.collect_callgrind is not supported by retrograd: "
            "instructions are not counted; use blocked_autorange"
        )
