"""`python -m benchmarks`: every workload on PyTorch and on retrograd, as ratios."""

import argparse
import contextlib
import importlib.util
import json
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.runner import Worker, WorkerError, measure, with_threads
from benchmarks.tables import as_data, heading, mean_row, means, mebibytes, row
from benchmarks.twins import TWINS, environment
from benchmarks.workloads import WORKLOADS

PINNED_TORCH = "2.13"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Processor time of retrograd beside PyTorch, one thread each, in interleaved "
        "rounds. ratio = PyTorch's time / retrograd's: above 1 retrograd is faster.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=None, help="rounds per workload (21)")
    parser.add_argument(
        "--only",
        action="append",
        choices=list(WORKLOADS),
        metavar="NAME",
        help=", ".join(WORKLOADS),
    )
    parser.add_argument(
        "--memory",
        action="store_true",
        help="measure the peak memory of each workload instead of its time (Linux)",
    )
    parser.add_argument(
        "--replay",
        action="store_true",
        help="run the subject's steps from a plan: retrograd.replay",
    )
    parser.add_argument(
        "--jax",
        action="store_true",
        help="measure jax.jit as well, in an environment that is made for it in build/jax",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="threads on both sides (1); above 1, time by a clock"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds: a glance")
    parser.add_argument(
        "--subject",
        default="retrograd",
        metavar="MODULE",
        help="the module to compare; 'torch' compares PyTorch with itself, to try the method",
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FOLDER",
        help="compare with retrograd in another checkout instead of with PyTorch: above 1 this "
        "one is faster",
    )
    options = parser.parse_args()
    if options.baseline is not None:
        options.baseline = options.baseline.resolve()
        if not (options.baseline / "retrograd").is_dir():
            parser.error(f"no retrograd in {options.baseline}")
    options.name = "PyTorch" if options.baseline is None else "baseline"
    if options.rounds is None:
        options.rounds = 5 if options.quick else 21
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.threads < 1:
        parser.error("--threads must be at least 1")
    if options.jax and (options.threads > 1 or options.memory or options.baseline is not None):
        parser.error("--jax is measured in time, in one thread, beside PyTorch")
    return options


def sides(options: argparse.Namespace) -> list[Callable[[], Worker]]:
    """What starts the workers: reference, subject, JAX where it is asked for, control."""
    module = "torch" if options.baseline is None else "retrograd"
    threads = with_threads(options.threads)
    replay = {"BENCHMARK_REPLAY": "1"} if options.replay else {}
    started: list[Callable[[], Worker]] = [
        partial(Worker, "reference", module, threads, options.baseline),
        partial(Worker, "subject", options.subject, {**threads, **replay}),
        partial(Worker, "control", module, threads, options.baseline),
    ]
    if options.jax:
        one = {**threads, **environment.ONE_THREAD}
        python = environment.interpreter()
        started.insert(2, partial(Worker, "jax", "jax", one, python=python))
    return started


def facts_of(workers: Sequence[Worker], options: argparse.Namespace) -> dict[str, Any]:
    version = {worker.label: worker.version for worker in workers}
    jax = f", jax {version['jax']}" if options.jax else ""
    return {
        "reference": version["reference"],
        "subject": f"{options.subject} {version['subject']}" + ", replay" * options.replay + jax,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "rounds": options.rounds,
        "threads": options.threads,
    }


def measured(name: str, workers: Sequence[Worker], options: argparse.Namespace) -> dict[str, Any]:
    """One workload on all sides that have it."""
    target_seconds = 0.02 if options.quick else 0.075
    taking_part = [worker for worker in workers if worker.label != "jax" or name in TWINS]
    subject = next(worker for worker in workers if worker.label == "subject")
    reason = subject.why_not_replayed(name) if options.replay else None
    return as_data(measure(name, taking_part, options.rounds, target_seconds), reason)


def run(options: argparse.Namespace) -> int:
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(start()) for start in sides(options)]
        facts = facts_of(workers, options)
        if options.baseline is None and not workers[0].version.startswith(PINNED_TORCH):
            print(f"note: figures are kept for PyTorch {PINNED_TORCH}", file=sys.stderr)
        if not options.json:
            print(heading(facts, options))
        results: list[dict[str, Any]] = []
        failures: list[dict[str, str]] = []
        for name in options.only or WORKLOADS:
            try:
                result = measured(name, workers, options)
            except WorkerError as error:
                failures.append({"workload": name, "error": str(error)})
                print(f"{name:<18} not measured: {error}", file=sys.stderr)
                if any(worker.process.poll() is not None for worker in workers):
                    break
                continue
            results.append(result)
            if not options.json:
                print(row(result, options.jax), flush=True)
        mean = means(results)
        if options.json:
            found = {**facts, "geometric_mean": mean, "results": results, "failures": failures}
            print(json.dumps(found, indent=2))
        else:
            if len(results) > 1 and mean:
                print(mean_row(mean, options.jax))
            if not options.only:
                print("\n" + "\n".join(f"{w.name:<18}{w.title}" for w in WORKLOADS.values()))
    return 1 if failures else 0


def run_memory(options: argparse.Namespace) -> int:
    """Peak memory of each workload on both modules.

    The processes do nothing else: what a workload frees would serve the next one unseen.
    """
    if sys.platform != "linux":
        print("peak memory is read from /proc, which only Linux has", file=sys.stderr)
        return 2
    results: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    module = "torch" if options.baseline is None else "retrograd"
    with (
        Worker("reference", module, folder=options.baseline) as reference,
        Worker("subject", options.subject) as subject,
    ):
        if not options.json:
            print(
                f"{options.name} {reference.version}, {options.subject} {subject.version}\n"
                f"at the peak: bytes of arrays that a step holds above those at its begin, and "
                f"resident\nmemory of a process, above what it had before it prepared the workload "
                f"and ran a few\nsteps, where less than a few MiB says little\n\n"
                f"{'':<18}{'arrays':>24}{'resident':>24}\n"
                f"{'workload':<18}" + f"{options.name:>12}{options.subject[:9]:>12}" * 2
            )
        for name in options.only or WORKLOADS:
            try:
                peaks = {w.label: w.peaks(name) for w in (reference, subject)}
            except WorkerError as error:
                failures.append({"workload": name, "error": str(error)})
                print(f"{name:<18} not measured: {error}", file=sys.stderr)
                continue
            results.append({"workload": name, "peaks": peaks})
            if not options.json:
                figures = "".join(
                    f"{mebibytes(peaks[label][kind]):>12}"
                    for kind in ("arrays", "resident")
                    for label in peaks
                )
                print(f"{name:<18}{figures}", flush=True)
    if options.json:
        print(json.dumps({"results": results, "failures": failures}, indent=2))
    return 1 if failures else 0


def main() -> int:
    options = arguments()
    for module in ("torch" if options.baseline is None else "retrograd", options.subject):
        if importlib.util.find_spec(module) is None:
            advice = "run `make bench`, or: pip install torch==2.13.0" if module == "torch" else ""
            print(
                f"the benchmarks need {module}, which is not installed. {advice}", file=sys.stderr
            )
            return 2
    try:
        return run_memory(options) if options.memory else run(options)
    except WorkerError as error:
        print(f"the benchmarks cannot run: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
