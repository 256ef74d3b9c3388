"""Run a program on retrograd or on PyTorch, and compare what the two printed.

A program is started as its user would start it, in a process of its own: `retrograd run PROGRAM`
(a fork of a Python that has imported retrograd) or `python PROGRAM`. Nothing in it is changed.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests import forked

ROOT = Path(__file__).resolve().parents[2]

# A number that stands alone: not part of a name such as conv1_1 or of a shape such as 3x4.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w])|\b(?:nan|inf)\b"
)


def on_retrograd(folder: Path, *program: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    """`retrograd run PROGRAM ARGUMENTS` in a folder, with this text as its standard input."""
    command = ["-m", "retrograd", "run", *program]
    return forked.python(command, folder, {**os.environ, "PYTHONPATH": str(ROOT)}, text)


def on_pytorch(folder: Path, *program: str, text: str = "") -> "subprocess.CompletedProcess[str]":
    """`python PROGRAM ARGUMENTS` in a folder."""
    return subprocess.run(
        [sys.executable, *program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": ""},
        input=text,
        capture_output=True,
        text=True,
        timeout=900,  # for what hangs
        check=False,
    )


def numbers(text: str) -> list[str]:
    """Every number in a text, as it was written."""
    return NUMBER.findall(text)


def differences(ours: str, theirs: str) -> list[str]:
    """The lines in which two outputs differ: text must be equal, numbers to four digits."""
    left, right = ours.splitlines(), theirs.splitlines()
    if len(left) != len(right):
        return [f"{len(left)} lines, and PyTorch prints {len(right)}"]
    return [
        f"{a!r}, and PyTorch prints {b!r}"
        for a, b in zip(left, right, strict=True)
        if not _same(a, b)
    ]


def _same(ours: str, theirs: str) -> bool:
    if ours == theirs:
        return True
    # A sign or a digit more may move the columns, so blanks are not compared.
    if NUMBER.sub("#", ours).split() != NUMBER.sub("#", theirs).split():
        return False
    pairs = zip(numbers(ours), numbers(theirs), strict=True)
    return all(_close(a, b) for a, b in pairs)


def _close(ours: str, theirs: str) -> bool:
    """Four digits, or one unit of the last place where fewer are printed; whole numbers exactly."""
    if ours == theirs:
        return True
    if "." not in theirs or "nan" in (ours, theirs):
        return False
    mantissa, _, exponent = theirs.lower().partition("e")
    last_place = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    allowed = max(1.5e-4, 1.01 * last_place, 1e-4 * abs(float(theirs)))
    return abs(float(ours) - float(theirs)) <= allowed
