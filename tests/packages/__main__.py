"""`make packages`: packages that are written for PyTorch, on both libraries, as a table.

Each program in `programs/` is run twice, on real PyTorch and by `retrograd run`, with one seed. Its
first line says which package it uses and what it does. The exit status is 1 where a program of an
installed package does not print the same, to the tolerance, on both.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from tests.limits import LIMIT

from .comparison import compared

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"

TOLERANCE = 1e-4
"""How far printed numbers may be apart, as a part of PyTorch's where that is above one.

Training adds up the rounding of many steps; a wrong rule shows in the first digits."""

ALONE = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "CUDA_VISIBLE_DEVICES": "",
    **dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1"),
}
"""No model hub is asked, and one thread computes."""


class Row(NamedTuple):
    """One line of the table."""

    package: str
    version: str
    program: str
    result: str
    agrees: bool


def printed(command: Sequence[str], file: Path) -> tuple[str, str | None]:
    """What a program prints, and the last line of its error where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", *command, os.fspath(file)],
                capture_output=True,
                text=True,
                cwd=folder,
                env={**os.environ, **ALONE, "PYTHONPATH": os.fspath(ROOT)},
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return "", f"not over after {LIMIT:.0f} s"
    if done.returncode == 0:
        return done.stdout, None
    said = [line for line in done.stderr.splitlines() if line.strip()]
    raised = [line for line in said if line[0].isalpha() and ":" in line]
    return done.stdout, (raised or said or [f"exit status {done.returncode}"])[-1]


def row(file: Path) -> Row:
    """Run one program on both libraries."""
    title = (ast.get_docstring(ast.parse(file.read_text())) or "").splitlines()[0]
    package, _, what = title.rstrip(".").partition(": ")
    try:
        found = version(package)
    except PackageNotFoundError:
        return Row(package, "", what, "not installed", True)
    theirs, their_error = printed(["-m", "tests.packages.on_pytorch"], file)
    ours, our_error = printed(["-m", "retrograd", "run"], file)
    if their_error is not None:
        return Row(package, found, what, f"on PyTorch: {their_error}", False)
    if our_error is not None:
        return Row(package, found, what, our_error, False)
    numbers, largest, unequal = compared(ours, theirs)
    if unequal is not None:
        return Row(package, found, what, f"prints {unequal[0]!r}, PyTorch {unequal[1]!r}", False)
    result = f"{numbers} numbers, {largest:.1e} apart"
    return Row(package, found, what, result, numbers > 0 and largest <= TOLERANCE)


def main() -> int:
    """Run the programs, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.packages", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the programs' names; none: all of them")
    names = parser.parse_args().names
    files = sorted(PROGRAMS.glob("*.py"))
    chosen = [file for file in files if not names or any(name in file.stem for name in names)]
    print("| package | version | what runs | result |\n| --- | --- | --- | --- |")
    bad = 0
    for file in chosen:
        line = row(file)
        bad += not line.agrees
        print("|", " | ".join(line[:4]), "|", flush=True)
    print(
        f"\n{len(chosen) - bad} of {len(chosen)} programs print the same on both libraries, ",
        end="",
    )
    print(f"to {TOLERANCE:g}")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
