"""Figures as plain data, and as the lines of a table."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.runner import Measurement, geometric_mean
from benchmarks.workloads import WORKLOADS

RATIOS = {
    "ratio": ("reference", "subject"),
    "beside_jax": ("jax", "subject"),
    "control": ("reference", "control"),
}
"""What is divided by what: above 1 the subject is faster."""


def as_data(measurement: Measurement, not_replayed: str | None = None) -> dict[str, Any]:
    """All that a row tells; `not_replayed` is why the subject's steps had no plan."""
    return {
        "workload": measurement.workload,
        "title": WORKLOADS[measurement.workload].title,
        "iterations": measurement.iterations,
        "microseconds": {label: measurement.microseconds(label) for label in measurement.seconds},
        **{
            kind: asdict(measurement.ratio(above, below))
            for kind, (above, below) in RATIOS.items()
            if above in measurement.seconds
        },
        "not_replayed": not_replayed,
        "seconds": measurement.seconds,
    }


def means(results: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Geometric means over the workloads; under ``--replay`` over those that are replayed."""
    counted = [result for result in results if result["not_replayed"] is None]
    found = {
        kind: [result[kind]["median"] for result in counted if kind in result] for kind in RATIOS
    }
    return {kind: geometric_mean(ratios) for kind, ratios in found.items() if ratios}


def duration(microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.3g} us"
    return f"{microseconds / 1000:.3g} ms"


def row(result: dict[str, Any], jax: bool) -> str:
    took, ratio, control = (result[kind] for kind in ("microseconds", "ratio", "control"))
    beside = result.get("beside_jax")
    cells = [
        f"{result['workload']:<18}",
        f"{duration(took['reference']):>10}{duration(took['subject']):>10}",
        f"{duration(took['jax']) if beside else '':>10}" * jax,
        f"{ratio['median']:>7.2f}  {ratio['low']:>5.2f}-{ratio['high']:<5.2f}",
        (_jax_ratio(beside) if beside else " " * 20) * jax,
        f"{control['median']:>8.2f}  {control['low']:.2f}-{control['high']:.2f}",
    ]
    reason = result["not_replayed"]
    return "".join(cells) + ("" if reason is None else f"  not replayed: {reason[:60]}")


def _jax_ratio(beside: dict[str, float]) -> str:
    return f"{beside['median']:>7.2f}  {beside['low']:>5.2f}-{beside['high']:<5.2f}"


def mean_row(mean: dict[str, float], jax: bool) -> str:
    """The line of the means, below the columns of `row`."""
    beside = mean.get("beside_jax")
    cells = [
        f"{'geometric mean':<38}" + " " * (10 * jax),
        f"{mean['ratio']:>7.2f}" + " " * 13,
        ("" if beside is None else f"{beside:>7.2f}").ljust(20) * jax,
        f"{mean['control']:>8.2f}",
    ]
    return "".join(cells)


def heading(facts: dict[str, Any], options: argparse.Namespace) -> str:
    name, subject = options.name, options.subject
    measured = "processor time" if options.threads == 1 else "time"
    jax = f"; jax: jax / {subject}" if options.jax else ""
    columns = [
        f"{'workload':<18}{name:>10}{subject[:9]:>10}",
        f"{'jax':>10}" * options.jax,
        f"{'ratio':>7}  {'quartiles':<11}",
        f"{'jax':>7}  {'quartiles':<11}" * options.jax,
        f"{'control':>8}  quartiles",
    ]
    return (
        f"{name} {facts['reference']}, {facts['subject']}, Python {facts['python']}, "
        f"{facts['machine']}\n"
        f"{measured} of one step, threads: {options.threads}, median of {options.rounds} "
        f"interleaved rounds\nratio: {name} / {subject}, above 1 {subject} is faster{jax}; "
        f"control: {name} / {name}\n\n" + "".join(columns)
    )


def mebibytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**18 else f"{count / 2**10:.1f} KiB"
