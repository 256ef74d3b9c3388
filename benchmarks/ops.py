"""`python -m benchmarks.ops`: single ops on PyTorch and on retrograd, forward and with backward."""

import argparse
import contextlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import Measurement, Worker, WorkerError, geometric_mean, measure
from benchmarks.tables import duration
from benchmarks.workloads import EVERY  # noqa: F401 (registers the rows)
from benchmarks.workloads.single import FORMS, SINGLE_OPS, forms, named


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ops",
        description="Processor time of single ops beside PyTorch, one thread each, in interleaved "
        "rounds. ratio = PyTorch's time / retrograd's: above 1 retrograd is faster; control = "
        "PyTorch / PyTorch.",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=list(SINGLE_OPS),
        metavar="OP",
        help=", ".join(SINGLE_OPS),
    )
    sizes = {size: None for at in SINGLE_OPS.values() for size in at}
    parser.add_argument(
        "--size", action="append", choices=list(sizes), metavar="SIZE", help=", ".join(sizes)
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row (9)")
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FOLDER",
        help="compare with retrograd in another checkout instead of with PyTorch",
    )
    return parser.parse_args()


def half_row(found: dict[str, Any]) -> str:
    times = "".join(f"{duration(found[label]):>10}" for label in ("reference", "subject"))
    return f"{times}{found['ratio']:>7.2f}{found['control']:>6.2f}"


def heading(name: str) -> str:
    half = f"{name:>10}{'retrograd':>10}{'ratio':>7}{'ctrl':>6}"
    above = f"{'':<35}{'forward':>33}   {'forward + backward':>33}"
    return f"{above}\n{'op':<21}{'size':<14}{half}   {half}"


def chosen(options: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """The rows that are asked for."""
    for op in options.only or SINGLE_OPS:
        for size in SINGLE_OPS[op]:
            if not options.size or size in options.size:
                yield op, size


def as_data(measurement: Measurement) -> dict[str, float]:
    """Microseconds on both sides, their ratio and the control."""
    return {
        **{label: measurement.microseconds(label) for label in ("reference", "subject")},
        "ratio": measurement.ratio("reference", "subject").median,
        "control": measurement.ratio("reference", "control").median,
    }


def means(results: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The geometric mean of the ratios of each form."""
    ratios = {form: [r[form]["ratio"] for r in results if form in r] for form in FORMS}
    return {form: geometric_mean(found) for form, found in ratios.items() if found}


def run(options: argparse.Namespace) -> int:
    module = "torch" if options.baseline is None else "retrograd"
    folder = None if options.baseline is None else options.baseline.resolve()
    if not options.json:
        print(heading("PyTorch" if options.baseline is None else "baseline"))
    results: list[dict[str, Any]] = []
    failures: list[dict[str, str]] = []
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(label, subject, folder=place))
            for label, subject, place in [
                ("reference", module, folder),
                ("subject", "retrograd", None),
                ("control", module, folder),
            ]
        ]
        for op, size in chosen(options):
            try:
                row = {
                    form: as_data(measure(named(op, size, form), workers, options.rounds, 0.02))
                    for form in forms(op, size)
                }
            except WorkerError as error:
                failures.append({"op": op, "size": size, "error": str(error)})
                print(f"{op:<21}{size:<14}not measured: {error}", file=sys.stderr)
                continue
            results.append({"op": op, "size": size, **row})
            if not options.json:
                print(f"{op:<21}{size:<14}{'   '.join(map(half_row, row.values()))}", flush=True)
    found = {"geometric_mean": means(results), "results": results, "failures": failures}
    if options.json:
        print(json.dumps(found, indent=2))
    else:
        print("geometric mean: " + ", ".join(f"{mean:.2f}" for mean in means(results).values()))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(run(arguments()))
