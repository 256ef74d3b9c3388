"""Calls every public function wrongly on both libraries and prints how the answers compare.

    python -m tests.compat.wrong_calls [--share 0.1] [--jobs 2] [--only linalg] [--keep FILE]

Calls are right ones (from the samples of declarations) with one mistake. Counted are those that
PyTorch refuses: whether the type of the exception is the same, and the first line of its message.
Calls that only one of the two refuses are counted apart. Each part of the work runs in a process of
its own, so that a call at which PyTorch crashes, or which does not end, costs that call alone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.compat.wrong_calls.functions import Function, functions, right_calls
from tests.compat.wrong_calls.mistakes import mistakes, sampled
from tests.compat.wrong_calls.outcomes import Comparison, Outcome, outcome

LONGEST = 60  # seconds that one call may take on both libraries
COLUMNS = ("same", "other words", "other type", "only there", "only here")


def compared(chosen: list[Function], share: float, after: str = "") -> Iterator[Comparison | str]:
    """The text of every call before it is made, and the comparison if it is refused.

    With `after`, the text of a call: those that follow it.
    """
    import torch

    import retrograd

    for function in chosen:
        wrong = [w for call in right_calls(function, torch) for w in mistakes(call)]
        for call in sampled(wrong, share, str(function)) if wrong else ():
            text = str(call)
            if after:
                after = "" if text == after else after
                continue
            yield text
            theirs, ours = outcome(text, torch), outcome(text, retrograd)
            if theirs.kind or ours.kind:
                yield Comparison(function.family, function.name, text, theirs, ours)


# ---------------------------------------------------------------------------------- in processes


def work(part: int, jobs: int, share: float, only: str, after: str) -> None:
    """A process's part: one line of JSON for each thing that `compared` gives."""
    os.environ["RETROGRAD_REPORT"] = "short"
    for found in compared(_chosen(only)[part::jobs], share, after):
        print(json.dumps(found), flush=True)
        faulthandler.dump_traceback_later(LONGEST, exit=True)  # until the next line


def _chosen(only: str) -> list[Function]:
    return [f for f in functions() if not only or only in str(f)]


def supervise(part: int, options: argparse.Namespace, found: list[Comparison]) -> int:
    """Run a part, and go on behind each call that ended its process; the number of calls."""
    last, made = "", 0
    while True:
        command = [sys.executable, "-m", "tests.compat.wrong_calls", "--part", str(part)]
        command += ["--jobs", str(options.jobs), "--share", str(options.share)]
        command += ["--only", options.only, "--after", last]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                row = json.loads(line)
                if isinstance(row, str):
                    last, made = row, made + 1
                else:
                    found.append(Comparison(*row[:3], Outcome(*row[3]), Outcome(*row[4])))
        if process.returncode == 0:
            return made
        print(f"ended by {process.returncode}: {last}", file=sys.stderr, flush=True)


# ------------------------------------------------------------------------------------- the table


def table(found: list[Comparison]) -> str:
    """What was found, by family."""
    families: dict[str, list[Comparison]] = defaultdict(list)
    for row in found:
        families[row.family].append(row)
    head = ("family", "functions", "refused", "type", "type+line", *COLUMNS[2:], "names leaked")
    lines = ["  ".join(f"{word:>12}" for word in head)]
    for family, rows in [*families.items(), ("all", found)]:
        counts = Counter(row.verdict for row in rows)
        refused = sum(bool(row.theirs.kind) for row in rows) or 1
        same_type = counts["same"] + counts["other words"]
        cells = (
            family, len({row.name for row in rows}), refused, f"{same_type / refused:.1%}",
            f"{counts['same'] / refused:.1%}", *(counts[name] for name in COLUMNS[2:]),
            sum(row.leaks for row in rows),
        )  # fmt: skip
        lines.append("  ".join(f"{cell:>12}" for cell in cells))
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.compat.wrong_calls", description=__doc__)
    parser.add_argument("--share", type=float, default=1.0, help="the part of the calls to make")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--only", default="", help="a part of the functions' names: linalg, nn.Linear"
    )
    parser.add_argument("--keep", type=Path, help="write everything that differs to a file")
    parser.add_argument("--part", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--after", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part is not None:
        work(options.part, options.jobs, options.share, options.only, options.after)
        return
    parts: list[list[Comparison]] = [[] for _ in range(options.jobs)]
    with ThreadPoolExecutor(options.jobs) as pool:
        made = list(pool.map(lambda part: supervise(part, options, parts[part]), range(len(parts))))
    found = sorted(row for part in parts for row in part)
    print(f"{sum(made):,} calls")
    print(table(found))
    if options.keep:
        with options.keep.open("w", encoding="utf-8") as file:
            for row in found:
                if row.verdict != "same" or row.leaks:
                    file.write(json.dumps([row.verdict, row.leaks, *row]) + "\n")


if __name__ == "__main__":
    main()
