"""`python -m benchmarks.page docs/performance.md`: the page of figures, as they were measured.

It runs the benchmarks one after the other, which takes about half an hour on a machine that does
nothing else. With `--only` the other sections stay as the page has them. Nothing on the page is
written by hand; it takes the place of the old one when it is whole.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.runner import ROOT
from benchmarks.tables import RATIOS, duration, mebibytes
from benchmarks.workloads.single import FORMS

METHOD = """\
A step of each workload runs on PyTorch and on retrograd, the same code, in processes of their own
that take turns; results are compared before anything is timed. A ratio is PyTorch's time divided by
retrograd's, the median over rounds, so above 1 retrograd is faster. The control is PyTorch divided
by PyTorch in the same rounds: how far it is from 1 says how far a ratio can be trusted. One thread
is measured in processor time, two by the clock. The workloads are in `benchmarks/workloads`;
[Benchmarks](benchmarks.md) says more about the method."""

Found = dict[str, Any]
Row = dict[str, Any]


def cells(values: Sequence[str]) -> str:
    return f"| {' | '.join(values)} |"


def head(first: str, *figures: str) -> list[str]:
    """The two lines above a table whose first column is text."""
    return [cells([first, *figures]), cells(["---", *["---:"] * len(figures)])]


def named(rows: Sequence[tuple[str, float]]) -> str:
    """Names with their ratios, the farthest behind first."""
    listed = [f"{name} ({ratio:.2f})" for name, ratio in sorted(rows, key=lambda row: row[1])]
    return "; ".join(listed) or "none of them"


def behind(results: Sequence[Row], kind: str = "ratio") -> list[tuple[str, float]]:
    """Titles and ratios of the rows where the subject takes longer."""
    ratios = [(r["title"], r[kind]["median"]) for r in results if kind in r]
    return [(title, ratio) for title, ratio in ratios if ratio < 1]


def not_measured(found: Found) -> list[str]:
    lines = []
    for failure in found["failures"]:
        name = failure.get("workload") or f"{failure['op']} {failure['size']}"
        lines += ["", f"Not measured: {name}: {failure['error']}."]
    return lines


def times(found: Found) -> list[str]:
    lines = head("workload", "PyTorch", "retrograd", "ratio", "control")
    for result in sorted(found["results"], key=lambda result: -result["ratio"]["median"]):
        took = [duration(result["microseconds"][side]) for side in ("reference", "subject")]
        ratios = [f"{result[kind]['median']:.2f}" for kind in ("ratio", "control")]
        lines.append(cells([result["title"], *took, *ratios]))
    mean = found["geometric_mean"]
    lines.append(
        cells(["geometric mean", "", "", f"{mean['ratio']:.2f}", f"{mean['control']:.2f}"])
    )
    ahead = named(behind(found["results"]))
    return [*lines, "", f"PyTorch is ahead in: {ahead}.", *not_measured(found)]


def replayed(found: Found) -> list[str]:
    """Steps that run from a plan, beside PyTorch and jax.jit; then those that have no plan."""
    lines = [
        "Steps of `retrograd.replay` beside eager PyTorch and beside `jax.jit`, which has a twin",
        "of each workload: the whole step as one jitted function with donated buffers. Compiling",
        "and recording are not counted.",
        "",
        *head("workload", "PyTorch", "replay", "jax", "ratio", "jax / replay", "control"),
    ]
    rows = [result for result in found["results"] if result["not_replayed"] is None]
    for result in sorted(rows, key=lambda result: -result["ratio"]["median"]):
        took = result["microseconds"]
        sides = [duration(took[s]) if s in took else "" for s in ("reference", "subject", "jax")]
        ratios = [_median(result, kind) for kind in RATIOS]
        lines.append(cells([result["title"], *sides, *ratios]))
    mean = found["geometric_mean"]
    means = [f"{mean[kind]:.2f}" if kind in mean else "" for kind in RATIOS]
    lines += [cells(["geometric mean", "", "", "", *means]), ""]
    lines += [f"PyTorch is ahead in: {named(behind(rows))}.", ""]
    lines += [f"jax.jit is ahead in: {named(behind(rows, 'beside_jax'))}."]
    for result in found["results"]:
        if result["not_replayed"] is not None:
            ratio = _median(result, "beside_jax") or "no twin"
            lines += ["", f"Not replayed: {result['title']}: {result['not_replayed']}"]
            lines[-1] += f" (jax / retrograd: {ratio})."
    return [*lines, *not_measured(found)]


def _median(result: Row, kind: str) -> str:
    return f"{result[kind]['median']:.2f}" if kind in result else ""


def memory(found: Found) -> list[str]:
    lines = [
        "Bytes of arrays that a step holds at its highest moment, above those at its begin.",
        "",
        *head("workload", "PyTorch", "retrograd", "PyTorch / retrograd"),
    ]
    above = []
    for result in found["results"]:
        theirs, ours = (result["peaks"][side]["arrays"] for side in ("reference", "subject"))
        ratio = theirs / ours if ours else float("inf")
        sizes = [mebibytes(theirs), mebibytes(ours)]
        lines.append(cells([result["workload"], *sizes, f"{ratio:.2f}"]))
        if ours > theirs:
            above.append((result["workload"], ratio))
    return [*lines, "", f"PyTorch takes less in: {named(above)}.", *not_measured(found)]


def single_ops(found: Found) -> list[str]:
    """Calls that are recorded, and the calls with `backward` of their results."""
    sides = ("PyTorch", "retrograd", "ratio")
    lines = [
        "Left the call, right the call with `backward` of its result. A call takes little time, so",
        "a figure says less than one of a workload.",
        "",
        *head("op", "size", *sides, *sides, "control"),
    ]
    for row in found["results"]:
        line = [row["op"], row["size"]]
        for form in FORMS:
            took = row.get(form)
            line += _figures(took) if took else ["", "", ""]
        controls = [row[form]["control"] for form in FORMS if form in row]
        lines.append(cells([*line, ", ".join(f"{control:.2f}" for control in controls)]))
    mean = found["geometric_mean"]
    means = [["", "", f"{mean[form]:.2f}"] if form in mean else [""] * 3 for form in FORMS]
    lines.append(cells(["geometric mean", "", *means[0], *means[1], ""]))
    for form, words in zip(FORMS, ("the call", "the call with `backward`"), strict=True):
        ratios = [
            (f"{r['op']} {r['size']}", r[form]["ratio"]) for r in found["results"] if form in r
        ]
        ahead = named([row for row in ratios if row[1] < 1])
        lines += ["", f"PyTorch is ahead in {words}: {ahead}."]
    return [*lines, *not_measured(found)]


def loading(found: Found) -> list[str]:
    intro = "Epochs of a `DataLoader`, by the clock; workers live on from epoch to epoch."
    return [intro, "", *times(found)]


def _figures(took: dict[str, float]) -> list[str]:
    times_of = [duration(took[side]) for side in ("reference", "subject")]
    return [*times_of, f"{took['ratio']:.2f}"]


Section = tuple[str, tuple[str, ...], Callable[[Found], list[str]]]
SECTIONS: dict[str, Section] = {
    "eager": ("One thread", ("benchmarks",), times),
    "threads": ("Two threads", ("benchmarks", "--threads", "2"), times),
    "replay": ("Replayed", ("benchmarks", "--replay", "--jax"), replayed),
    "memory": ("Memory", ("benchmarks", "--memory"), memory),
    "ops": ("Single ops", ("benchmarks.ops",), single_ops),
    "loading": ("Loading data", ("benchmarks.loading",), loading),
}
"""Title, the command that measures, and what makes its lines."""


def measured(command: Sequence[str], quick: bool) -> Found:
    """What a benchmark prints as JSON; rows that failed are part of it."""
    whole = [sys.executable, "-m", *command, "--json"]
    if quick:
        few = {"benchmarks.ops": ["--rounds", "2"], "benchmarks.loading": ["--rounds", "3"]}
        whole += few.get(command[0], ["--quick"])
    done = subprocess.run(whole, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    if not done.stdout:
        raise SystemExit(f"{' '.join(whole)} failed with exit code {done.returncode}")
    found: Found = json.loads(done.stdout)
    found["command"] = [word for word in whole[2:] if word != "--json"]
    return found


def processor(text: str) -> str:
    """The name of the processor, from the text of /proc/cpuinfo; without it, its kind."""
    for line in text.splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def section(name: str, facts: Found) -> str:
    """The heading, the command and the lines of what a section measured."""
    title, command, made = SECTIONS[name]
    said = f"`python -m {' '.join(facts.get('command', command))}`"
    if "reference" in facts:
        versions = f"PyTorch {facts['reference']}, {facts['subject']}"
        said += f", {versions}, Python {facts['python']}, {facts['rounds']} rounds"
    return "\n".join([f"## {title}", "", said, "", *made(facts)]) + "\n"


def page(found: dict[str, Found], machine: str, before: str = "") -> str:
    """The whole page: from what was measured; other sections as the page before has them."""
    kept = {part.partition("\n")[0]: f"## {part}" for part in before.split("\n## ")[1:]}
    parts = [
        "# Performance\n",
        "Written by `python -m benchmarks.page docs/performance.md`.\n",
        f"{METHOD}\n",
        f"Measured on {machine}.\n",
    ]
    for name, (title, _, _) in SECTIONS.items():
        if name in found:
            parts.append(section(name, found[name]))
        elif title in kept:
            parts.append(kept[title].rstrip() + "\n")
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.page", description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument(
        "--only", action="append", choices=list(SECTIONS), help="sections to measure (all)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    options = parser.parse_args()
    found = {}
    for name, (title, command, _) in SECTIONS.items():
        if not options.only or name in options.only:
            print(f"measuring: {title}", file=sys.stderr, flush=True)
            found[name] = measured(command, options.quick)
    about = Path("/proc/cpuinfo")
    name = processor(about.read_text(encoding="utf-8") if about.exists() else "")
    beside = options.path.with_suffix(".new")
    before = options.path.read_text(encoding="utf-8") if options.path.exists() else ""
    beside.write_text(page(found, f"{name}, {os.cpu_count()} cores", before), encoding="utf-8")
    beside.replace(options.path)


if __name__ == "__main__":
    main()
