"""`python -m benchmarks.ops`: single ops on PyTorch and on retrograd, forward and with backward."""

import argparse
import contextlib
import sys
from pathlib import Path

from benchmarks.__main__ import duration
from benchmarks.runner import Measurement, Worker, WorkerError, geometric_mean, measure
from benchmarks.workloads.ops import FORMS, IMAGES, SINGLE_OPS, SIZES, named


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
    parser.add_argument("--size", action="append", choices=[*SIZES, *IMAGES])
    parser.add_argument("--rounds", type=int, default=9, help="rounds per row (9)")
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FOLDER",
        help="compare with retrograd in another checkout instead of with PyTorch",
    )
    return parser.parse_args()


def half_row(measurement: Measurement) -> str:
    ratio = measurement.ratio("reference", "subject").median
    control = measurement.ratio("reference", "control").median
    times = [duration(measurement.microseconds(label)) for label in ("reference", "subject")]
    return f"{times[0]:>10}{times[1]:>10}{ratio:>7.2f}{control:>6.2f}"


def heading(name: str) -> str:
    half = f"{name:>10}{'retrograd':>10}{'ratio':>7}{'ctrl':>6}"
    above = f"{'':<26}{'forward':>33}   {'forward + backward':>33}"
    return f"{above}\n{'op':<15}{'size':<11}{half}   {half}"


def run(options: argparse.Namespace) -> int:
    module = "torch" if options.baseline is None else "retrograd"
    folder = None if options.baseline is None else options.baseline.resolve()
    print(heading("PyTorch" if options.baseline is None else "baseline"))
    ratios: dict[str, list[float]] = {form: [] for form in FORMS}
    failed = False
    with contextlib.ExitStack() as stack:
        workers = [
            stack.enter_context(Worker(label, subject, folder=place))
            for label, subject, place in [
                ("reference", module, folder),
                ("subject", "retrograd", None),
                ("control", module, folder),
            ]
        ]
        for op in options.only or SINGLE_OPS:
            for size in SINGLE_OPS[op]:
                if options.size and size not in options.size:
                    continue
                try:
                    found = [
                        measure(named(op, size, form), workers, options.rounds, 0.02)
                        for form in FORMS
                    ]
                except WorkerError as error:
                    print(f"{op:<15}{size:<11}not measured: {error}", file=sys.stderr)
                    failed = True
                    continue
                for form, measurement in zip(FORMS, found, strict=True):
                    ratios[form].append(measurement.ratio("reference", "subject").median)
                print(f"{op:<15}{size:<11}{'   '.join(map(half_row, found))}", flush=True)
    means = [geometric_mean(ratios[form]) for form in FORMS if ratios[form]]
    print("geometric mean: " + ", ".join(f"{mean:.2f}" for mean in means))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run(arguments()))
