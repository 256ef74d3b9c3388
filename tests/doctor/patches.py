"""Unified diffs: applied to texts and to programs of one or several files.

Repairs of labelled programs are kept as diffs; the repaired programs are written where they are
needed.
"""

from __future__ import annotations

import atexit
import difflib
import functools
import re
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


class DoesNotApply(ValueError):
    """A line that the diff names is not there."""


def apply(diff: str, text: str) -> str:
    """The text after the hunks of a diff of one file.

    >>> apply("@@ -1,2 +1,2 @@\\n a\\n-b\\n+c\\n", "a\\nb\\nd\\n")
    'a\\nc\\nd\\n'
    """
    old, new, at = text.splitlines(), [], 0
    for line in diff.splitlines():
        hunk = HUNK.match(line)
        if hunk is not None:
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
        elif line[:3] in ("---", "+++") or line[:1] == "\\":
            continue
        elif line[:1] == "+":
            new.append(line[1:])
        else:
            if at >= len(old) or old[at] != line[1:]:
                raise DoesNotApply(f"line {at + 1} is not {line[1:]!r}")
            if line[:1] != "-":
                new.append(old[at])
            at += 1
    return "\n".join(new + old[at:]) + "\n"


def split(diff: str) -> dict[str, str]:
    """The diff of each file, by the path behind `--- a/`.

    >>> split("--- a/x.py\\n+++ b/x.py\\n@@ -1 +1 @@\\n-1\\n+2\\n")
    {'x.py': '@@ -1 +1 @@\\n-1\\n+2\\n'}
    """
    found: dict[str, str] = {}
    for part in re.split(r"(?m)^--- a/", diff)[1:]:
        name, _, rest = part.partition("\n")
        found[name] = rest.partition("\n")[2]
    return found


def between(before: str, after: str, name: str) -> str:
    """The diff from one text to another, one line of context around each change."""
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", n=1, lineterm=""
    )
    return "".join(line + "\n" for line in lines)


# ----------------------------------------------------------------- the corpora and their repairs


@functools.cache
def _folder() -> Path:
    """Where repaired programs are written; gone when the process ends."""
    folder = tempfile.mkdtemp(prefix="retrograd-repaired-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


@functools.cache
def repaired(diff: Path) -> Path:
    """The script of a program with its repair: `name.diff` is applied to `name.py` or `name/`."""
    name = diff.stem
    changes = split(diff.read_text())
    folder = _folder() / diff.parent.name
    if not (diff.parent / name).is_dir():
        script = folder / f"{name}.fixed.py"
        folder.mkdir(exist_ok=True)
        script.write_text(apply(changes[f"{name}.py"], diff.with_suffix(".py").read_text()))
        return script
    copy = folder / f"{name}.fixed"
    shutil.copytree(diff.parent / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for file, change in changes.items():
        (copy / file).write_text(apply(change, (copy / file).read_text()))
    return copy / "main.py"


def healthy_script(folder: Path, case: Mapping[str, Any]) -> Path | None:
    """The program of a label if it is healthy, else its repaired form; None if it has none."""
    if case["fixed"] is not None:
        return repaired(folder / case["fixed"])
    return folder / case["script"] if case["category"] == "healthy" else None
