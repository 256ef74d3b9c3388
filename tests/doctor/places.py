"""The same mistake under the command, in a `watch()` block, as a test and as a cell.

    python -m tests.doctor.places tests/doctor/blind [PROGRAM ...] [--jobs 2]

Each program of a labelled folder becomes the body of a function for the block and for the test, and
a cell of a notebook. The table says what was found first in each place, and whether its first fix
was tried; the last line, in how many programs a place says what the command says. A program that
cannot stand in a function (`global`, `import *`, several files) is left out.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import subprocess
import sys
import tempfile
import tokenize
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import StringIO
from pathlib import Path

from tests.doctor.score import Labelled
from tests.doctor.test_plugin import PLUGIN
from tests.forked import ROOT

NOTHING = "nothing"
FINDING = re.compile(r"^ *(?:error|warning)\[([a-z-]+)\]: ", re.MULTILINE)
FIX = re.compile(r"^ *fix 1: (?P<kind>[\w-]+):.*?(?=^ *(?:fix 2|more):)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Told:
    """What a report says first."""

    cause: str = NOTHING
    kind: str = ""  # of the first fix
    tried: bool = False

    def __str__(self) -> str:
        return f"{self.cause} {self.kind}{' (tried)' if self.tried else ''}".strip()


def told(report: str) -> Told:
    """What the text of a report says first."""
    found = FINDING.search(report)
    if found is None:
        return Told()
    fix = FIX.search(report, found.end())
    if fix is None:
        return Told(found[1])
    return Told(found[1], fix["kind"], bool(re.search(r"^ *tried: ", fix[0], re.MULTILINE)))


# ------------------------------------------------------------------------------------ the places


def in_function(text: str, name: str) -> str | None:
    """The program as a function; None if it cannot be one."""
    for node in ast.walk(ast.parse(text)):
        star = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
        if star or isinstance(node, ast.Global):
            return None
    inside: set[int] = set()  # lines that begin within a text of several lines
    for token in tokenize.generate_tokens(StringIO(text).readline):
        if token.type == tokenize.STRING:
            inside.update(range(token.start[0] + 1, token.end[0] + 1))
    lines = [
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(text.splitlines(keepends=True), 1)
    ]
    return f"def {name}():\n" + "".join(lines).rstrip("\n") + "\n"


def command(folder: Path, text: str) -> list[str] | None:
    """`retrograd doctor program.py`."""
    (folder / "program.py").write_text(text)
    return ["-m", "retrograd", "doctor", "program.py"]


def block(folder: Path, text: str) -> list[str] | None:
    """`with retrograd.doctor.watch() as report:`."""
    body = in_function(text, "train")
    if body is None:
        return None
    head = "import torch\nfrom retrograd.doctor import watch\n\n"
    tail = "\ntry:\n    with watch() as report:\n        train()\nfinally:\n    print(report)\n"
    (folder / "program.py").write_text(head + body + tail)
    return ["program.py"]


def test(folder: Path, text: str) -> list[str] | None:
    """`pytest --autograd-doctor`."""
    body = in_function(text, "test_program")
    if body is None:
        return None
    (folder / "test_program.py").write_text("import torch\n\n" + body)
    options = [*PLUGIN, "-p", "no:cacheprovider", "--rootdir", "."]
    return ["-m", "pytest", "-q", *options, "--autograd-doctor", "test_program.py"]


CELL = """\
import torch
from tests.doctor.places import run_cell

run_cell({text!r})
"""


def cell(folder: Path, text: str) -> list[str] | None:
    """`%%doctor`."""
    (folder / "notebook.py").write_text(CELL.format(text=text))
    return ["notebook.py"]


def run_cell(text: str) -> None:
    """Run a cell as `%%doctor` does, and print its report."""
    from retrograd.doctor.fixes.again import of_cells
    from retrograd.doctor.library import watch
    from tests.doctor.test_again import Shell

    shell = Shell()
    name = shell.ran(text)
    shell.input_hist_parsed[-1] = f"get_ipython().run_cell_magic('doctor', 'torch', {text!r})\n"
    watcher = watch("torch")
    watcher.again = lambda number: of_cells(shell, number)
    space = {"__name__": "__main__"}
    try:
        with watcher as report:
            exec(compile(text, name, "exec"), space)
    finally:
        print(report)


PLACES: dict[str, Callable[[Path, str], list[str] | None]] = {
    "command": command,
    "watch()": block,
    "pytest": test,
    "cell": cell,
}


def report_at(place: str, text: str) -> str | None:
    """What a program prints at a place; None if it cannot stand there."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = PLACES[place](folder, text)
        if arguments is None:
            return None
        environment = {**os.environ, "PYTHONPATH": os.fspath(ROOT)}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder, env=environment, capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        return done.stderr if place == "command" else done.stdout


def main(folder: Path, chosen: list[str], jobs: int, out: Path | None) -> None:
    """Print the table."""
    names = [label["file"] for label in Labelled(folder).faulty if "/" not in label["file"]]
    names = [name for name in names if not chosen or any(name.startswith(c) for c in chosen)]
    same = dict.fromkeys(PLACES, 0)
    compared = 0
    with ThreadPoolExecutor(jobs) as pool:
        for name in names:
            text = (folder / name).read_text()
            reports = list(pool.map(partial(report_at, text=text), PLACES))
            print(name, flush=True)
            if None in reports:
                print("    left out", flush=True)
                continue
            compared += 1
            for place, report in zip(PLACES, reports, strict=True):
                found = told(report or "")
                same[place] += found == told(reports[0] or "")
                print(f"    {place:8} {found}", flush=True)
                if out is not None:
                    (out / f"{name[:2]}_{place.strip('()')}.txt").write_text(report or "")
    counts = ", ".join(f"{place} {count}" for place, count in same.items())
    print(f"{compared} programs; as the command says: {counts}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("programs", nargs="*", help="how their names begin; all by default")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, help="a folder for the reports")
    given = parser.parse_args()
    main(given.folder, given.programs, given.jobs, given.out)
