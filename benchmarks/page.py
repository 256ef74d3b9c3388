"""`python -m benchmarks.page docs/performance.md`: the page of figures, as they were measured.

It runs the benchmarks one after the other, which takes about a quarter of an hour on a machine that
does nothing else, and writes the page beside its old one before it takes its place.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.runner import ROOT

RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "eager": ("One thread", ()),
    "threads": ("Two threads", ("--threads", "2")),
    "replay": ("Replayed", ("--replay",)),
    "memory": ("Memory", ("--memory",)),
}
"""The sections: title, and the options that measure them."""

METHOD = """\
A step of each workload runs on PyTorch and on retrograd, the same code, in processes of their own
that take turns; results are compared before anything is timed. A ratio is PyTorch's time divided by
retrograd's, the median over rounds, so above 1 retrograd is faster. The control is PyTorch divided
by PyTorch in the same rounds: how far it is from 1 says how far a ratio can be trusted. One thread
is measured in processor time, two by the clock. The workloads are in `benchmarks/workloads`;
[Benchmarks](benchmarks.md) says more about the method."""


def measured(options: tuple[str, ...], quick: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks", "--json", *options]
    if quick:
        command.append("--quick")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if not done.stdout:
        raise SystemExit(f"{' '.join(command)} failed with exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def microseconds(value: float) -> str:
    return f"{value / 1000:.2f} ms" if value >= 1000 else f"{value:.1f} us"


def times(found: dict[str, Any]) -> list[str]:
    lines = [
        "| workload | PyTorch | retrograd | ratio | control |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for result in sorted(found["results"], key=lambda result: -result["ratio"]["median"]):
        took = [microseconds(result["microseconds"][side]) for side in ("reference", "subject")]
        ratio, control = (result[kind]["median"] for kind in ("ratio", "control"))
        lines.append(f"| {result['title']} | {took[0]} | {took[1]} | {ratio:.2f} | {control:.2f} |")
    mean = found["geometric_mean"]
    lines += [f"| geometric mean | | | {mean['ratio']:.2f} | {mean['control']:.2f} |", ""]
    behind = [r["title"] for r in found["results"] if r["ratio"]["median"] < 1]
    lines.append(f"PyTorch is ahead in: {'; '.join(behind) or 'none of them'}.")
    lines += [f"Not measured: {f['workload']}: {f['error']}." for f in found["failures"]]
    return lines


def kibibytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"


def memory(found: dict[str, Any]) -> list[str]:
    lines = [
        "Bytes of arrays that a step holds at its highest moment, above those at its begin.",
        "",
        "| workload | PyTorch | retrograd |",
        "| --- | ---: | ---: |",
    ]
    above = []
    for result in found["results"]:
        theirs, ours = (result["peaks"][side]["arrays"] for side in ("reference", "subject"))
        lines.append(f"| {result['workload']} | {kibibytes(theirs)} | {kibibytes(ours)} |")
        if ours > theirs:
            above.append(result["workload"])
    return [*lines, "", f"PyTorch takes less in: {', '.join(above) or 'none of them'}."]


def page(found: dict[str, dict[str, Any]]) -> str:
    facts = next(iter(found.values()))
    lines = [
        "# Performance",
        "",
        "Written by `python -m benchmarks.page docs/performance.md`.",
        "",
        METHOD,
    ]
    if "reference" in facts:
        lines += [
            "",
            f"PyTorch {facts['reference']}, {facts['subject']}, Python {facts['python']}, "
            f"{facts['machine']}, {os.cpu_count()} cores.",
        ]
    for name, data in found.items():
        lines += ["", f"## {RUNS[name][0]}", ""]
        lines += memory(data) if name == "memory" else times(data)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--only", action="append", choices=list(RUNS), help="sections (all)")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    options = parser.parse_args()
    found = {}
    for name in options.only or RUNS:
        title, arguments = RUNS[name]
        print(f"measuring: {title}", file=sys.stderr, flush=True)
        found[name] = measured(arguments, options.quick)
    beside = options.path.with_suffix(".new")
    beside.write_text(page(found), encoding="utf-8")
    beside.replace(options.path)


if __name__ == "__main__":
    main()
