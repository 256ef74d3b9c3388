"""What recording a graph's life costs: steps under `graph.record` and plain, in turns.

    python -m benchmarks.recording [--rounds 5] [--engine torch|retrograd] [WORKLOAD ...]

Prints, for each workload, the time of a plain step, the ratio to it of a step that is recorded, as
all are in short programs, of the steps of a long run, which is sampled, and of a second plain one
as a control (medians over rounds), and what recording adds per node of the graph. A recording of
its own is made in each round; its first steps are not in the figures. Measured is processor time
with one thread, so that what else runs on the machine does not count.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
from collections.abc import Callable
from typing import Any

from benchmarks.doctor import WORKLOADS, Step, run_steps
from retrograd.graph import record
from retrograd.watching.engines import choose_engine

LEAST_SECONDS = 0.2  # of one measurement of plain steps
MOST_STEPS = 200  # in one measurement
BEFORE = 10  # recorded steps that are not measured: the first looks at variables take longest


def recorded_steps(engine: str, step: Step, count: int) -> tuple[float, int]:
    """Seconds for steps that are all recorded, and the nodes that were seen in each."""
    with record(engine, every_step=True) as recording:
        run_steps(step, BEFORE)
        seconds = run_steps(step, count)
    assert recording.recorder is not None
    return seconds, recording.recorder.lives.seen // (count + BEFORE)


def sampled_steps(engine: str, step: Step, least: float) -> float:
    """Seconds for a step of a long run, from where it begins to be sampled."""
    with record(engine) as recording:
        recorder = recording.recorder
        assert recorder is not None and recorder.pace is not None
        recorder.pace.steps, recorder.pace.free = BEFORE, 0.0
        while not recorder.slept:
            run_steps(step, 1)
        run_steps(step, BEFORE)
        count, seconds = 0, 0.0
        while seconds < least:
            seconds += run_steps(step, BEFORE)
            count += BEFORE
    return seconds / count


def measure(engine: str, make: Callable[[Any], Step], rounds: int) -> tuple[list[float], int]:
    """Seconds of a step: plain, recorded, of a long run, plain again; and nodes per step."""
    torch = choose_engine(engine).torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = make(torch)
    run_steps(step, 5)
    once = run_steps(step, 5) / 5
    count = min(max(3, round(LEAST_SECONDS / once)), MOST_STEPS)
    nodes = recorded_steps(engine, step, 10)[1]
    rows = []
    for _ in range(rounds):
        plain = run_steps(step, count) / count
        recorded = recorded_steps(engine, step, count)[0] / count
        sampled = sampled_steps(engine, step, 4 * LEAST_SECONDS)
        rows.append([plain, recorded, sampled, run_steps(step, count) / count])
    return [statistics.median(row[column] for row in rows) for column in range(4)], nodes


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--engine", choices=("torch", "retrograd"), default="torch")
    options = parser.parse_args(arguments)
    importlib.import_module(f"{options.engine}.optim")
    columns = ("plain", "recorded", "long run", "control", "nodes", "us/node")
    print(f"{'workload':<18}" + "".join(f"{column:>11}" for column in columns))
    for name in options.workloads or WORKLOADS:
        (plain, seen, sampled, again), nodes = measure(
            options.engine, WORKLOADS[name], options.rounds
        )
        each = (seen - plain) / max(nodes, 1) * 1e6
        print(
            f"{name:<18}{plain * 1e3:>8.2f} ms{seen / plain:>10.2f}x{sampled / plain:>10.2f}x"
            f"{again / plain:>10.2f}x"
            f"{nodes:>11}{each:>11.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
