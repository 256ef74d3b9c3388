"""Starts the workers, compares their values, and times them in interleaved rounds.

In one round every worker runs the same number of iterations, one worker after the other; the
order rotates from round to round. Ratios are taken within a round, where the machine's mood is
the same for all, and the median over the rounds is reported.
"""

import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def with_threads(count: int) -> dict[str, str]:
    """The environment of a process that works in so many threads, whatever library it uses."""
    libraries = ("OMP_NUM", "OPENBLAS_NUM", "MKL_NUM", "VECLIB_MAXIMUM")
    return {f"{library}_THREADS": str(count) for library in libraries}


ONE_THREAD = with_threads(1)

FEWEST_ITERATIONS = 5
"""A round of a slow workload has at least so many steps: one step alone is too noisy."""

RELATIVE_TOLERANCE = 1e-4
ABSOLUTE_TOLERANCE = 1e-6
"""Times the largest number of a tensor where that is above 1: sums round as their terms do."""

UNTOLD = {"untold": True}
"""Stands for a tensor that a worker computes and does not give out."""


class WorkerError(Exception):
    """A worker could not start, died, or a workload raised inside it."""


class Worker:
    """One process that runs workloads on one module.

    `folder` names another checkout of the module, `python` the interpreter that has it.
    """

    def __init__(
        self,
        label: str,
        module: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
        python: Path | str = sys.executable,
    ):
        self.label = label
        place = [] if folder is None else [str(folder)]
        self.process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", module, *place],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, **ONE_THREAD, **(environment or {})},
        )
        greeting = self.receive()
        self.version = str(greeting["version"])
        if folder is not None and not Path(greeting["file"]).is_relative_to(folder):
            self.close()
            raise WorkerError(f"{module} came from {greeting['file']}, not from {folder}")

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            code = self.process.wait()
            raise WorkerError(f"the {self.label} worker ended with exit code {code}")
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise WorkerError(f"in the {self.label} worker: {reply['error']}")
        return reply

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # receive() finds the end of the stream and says so
        return self.receive()

    def seconds(self, workload: str, iterations: int) -> float:
        return float(self.ask(do="time", workload=workload, iterations=iterations)["seconds"])

    def values(self, workload: str) -> list[dict[str, Any] | None]:
        values: list[dict[str, Any] | None] = self.ask(do="values", workload=workload)["values"]
        return values

    def why_not_replayed(self, workload: str) -> str | None:
        """Why the steps of a workload do not run from a plan; None if they do."""
        reason: str | None = self.ask(do="replay", workload=workload)["reason"]
        return reason

    def peaks(self, workload: str) -> dict[str, int]:
        """Bytes at the highest moment: of arrays in a step, of the process's resident pages."""
        return dict(self.ask(do="memory", workload=workload)["peaks"])

    def close(self) -> None:
        if self.process.stdin is not None:
            self.process.stdin.close()
        if self.process.stdout is not None:
            self.process.stdout.close()
        self.process.wait()

    def __enter__(self) -> "Worker":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


@dataclass(frozen=True)
class Ratio:
    """The median of paired ratios and their quartiles."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurement:
    """Seconds of each worker in each round, all rounds with the same number of iterations."""

    workload: str
    iterations: int
    seconds: dict[str, list[float]]

    def microseconds(self, label: str) -> float:
        """Median time of one step."""
        return statistics.median(self.seconds[label]) / self.iterations * 1e6

    def ratio(self, numerator: str, denominator: str) -> Ratio:
        pairs = zip(self.seconds[numerator], self.seconds[denominator], strict=True)
        return spread([above / below for above, below in pairs])


def spread(ratios: Sequence[float]) -> Ratio:
    """Median and quartiles.

    >>> spread([1.0, 2.0, 3.0])
    Ratio(median=2.0, low=1.5, high=2.5)
    """
    if len(ratios) == 1:
        return Ratio(ratios[0], ratios[0], ratios[0])
    low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return Ratio(median, low, high)


def geometric_mean(ratios: Sequence[float]) -> float:
    """The mean of ratios: half as fast and twice as fast make 1.

    >>> geometric_mean([0.5, 2.0])
    1.0
    """
    return statistics.geometric_mean(ratios)


def difference(
    expected: Sequence[dict[str, Any] | None], found: Sequence[dict[str, Any] | None]
) -> str | None:
    """The first place where two workers' values differ, in words; None if they agree."""
    if len(expected) != len(found):
        return f"{len(expected)} tensors against {len(found)}"
    for position, (left, right) in enumerate(zip(expected, found, strict=True)):
        if right == UNTOLD:
            continue
        if left is None or right is None:
            if left is not right:
                return f"tensor {position} is missing on one side"
            continue
        for fact in ("shape", "dtype"):
            if left[fact] != right[fact]:
                return f"{fact} of tensor {position}: {left[fact]} against {right[fact]}"
        largest = max(map(abs, left["values"]), default=0.0)
        absolute = max(ABSOLUTE_TOLERANCE * max(1.0, largest), right.get("tolerance", 0.0))
        for first, second in zip(left["values"], right["values"], strict=True):
            if not math.isclose(first, second, rel_tol=RELATIVE_TOLERANCE, abs_tol=absolute):
                return f"a value of tensor {position}: {first!r} against {second!r}"
    return None


def calibrate(worker: Worker, workload: str, target_seconds: float) -> int:
    """The number of iterations that takes about `target_seconds` in `worker`."""
    iterations = 1
    while True:
        taken = worker.seconds(workload, iterations)
        if taken >= target_seconds / 4:
            return max(FEWEST_ITERATIONS, round(iterations * target_seconds / taken))
        iterations *= 4


def measure(
    workload: str, workers: Sequence[Worker], rounds: int, target_seconds: float
) -> Measurement:
    """Check that all workers compute the same values, then time them; the first one calibrates."""
    expected = workers[0].values(workload)
    for worker in workers[1:]:
        found = difference(expected, worker.values(workload))
        if found is not None:
            raise WorkerError(
                f"{worker.label} does not compute {workers[0].label}'s values: {found}"
            )
    iterations = calibrate(workers[0], workload, target_seconds)
    seconds: dict[str, list[float]] = {worker.label: [] for worker in workers}
    for turn in range(rounds):
        first = turn % len(workers)
        for worker in [*workers[first:], *workers[:first]]:
            seconds[worker.label].append(worker.seconds(workload, iterations))
    return Measurement(workload, iterations, seconds)
