"""`python -m benchmarks.loading`: epochs of a DataLoader on PyTorch and on retrograd."""

import argparse
import json
import sys
from typing import Any

from benchmarks.runner import Worker, WorkerError, geometric_mean, measure
from benchmarks.tables import duration
from benchmarks.workloads.loading import LOADING


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.loading",
        description="Time of an epoch by the clock, with and without worker processes, in "
        "interleaved rounds; the workers live on from epoch to epoch. ratio = PyTorch's time / "
        "retrograd's: above 1 retrograd is faster; control = PyTorch / PyTorch.",
    )
    parser.add_argument("--only", action="append", choices=list(LOADING), help="what is loaded")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row (9)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser.parse_args()


def main() -> int:
    """Print the figures; the exit status says whether all rows were measured."""
    options = arguments()
    results: list[dict[str, Any]] = []
    failures = []
    if not options.json:
        print(f"{'loaded':<24}{'PyTorch':>10}{'retrograd':>11}{'ratio':>8}{'control':>9}")
    by_clock = {"BENCHMARK_BY_CLOCK": "1"}
    with (
        Worker("reference", "torch", by_clock) as reference,
        Worker("subject", "retrograd", by_clock) as subject,
        Worker("control", "torch", by_clock) as control,
    ):
        for name in options.only or LOADING:
            try:
                found = measure(name, [reference, subject, control], options.rounds, 0.3)
            except WorkerError as error:
                print(f"{name:<24}not measured: {error}", file=sys.stderr)
                failures.append({"workload": name, "error": str(error)})
                continue
            row: dict[str, Any] = {
                "workload": name,
                "title": LOADING[name].title,
                "microseconds": {s: found.microseconds(s) for s in ("reference", "subject")},
                "ratio": {"median": found.ratio("reference", "subject").median},
                "control": {"median": found.ratio("reference", "control").median},
            }
            results.append(row)
            if not options.json:
                took = [duration(row["microseconds"][s]) for s in ("reference", "subject")]
                ratio, beside = (row[kind]["median"] for kind in ("ratio", "control"))
                print(
                    f"{name:<24}{took[0]:>10}{took[1]:>11}{ratio:>8.2f}{beside:>9.2f}", flush=True
                )
    mean = {
        kind: geometric_mean([row[kind]["median"] for row in results])
        for kind in ("ratio", "control")
        if results
    }
    if options.json:
        print(json.dumps({"results": results, "failures": failures, "geometric_mean": mean}))
    elif mean:
        print(f"geometric mean: {mean['ratio']:.2f} (control {mean['control']:.2f})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
