"""Writes a fix into the user's file: asked for, with a copy of what was there, all or nothing."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from retrograd.diagnostics.report import Fix
from retrograd.doctor.fixes.edits import FileEdit, edit_of


class CannotApply(Exception):
    """The file stays as it is; the message says why."""


def apply(fix: Fix) -> Path:
    """Write the edit of a fix; the result is the file that keeps what was there.

    Refuses when the file is no longer the one that was diagnosed.
    """
    edit = edit_of(fix)
    if edit is None:
        raise CannotApply("the fix could not be written as an edit")
    path = Path(os.path.realpath(edit.file))  # a link stays a link
    try:
        if path.read_bytes() != edit.before:
            raise CannotApply(f"{path.name} has changed since it was diagnosed")
        backup = _keep(path)
        _put(path, edit)
    except OSError as error:
        raise CannotApply(f"{path.name}: {error.strerror}") from error
    return backup


def _keep(path: Path) -> Path:
    """A copy beside the file, under a name that is free."""
    number = 0
    while True:
        backup = path.with_name(f"{path.name}.orig" + (f".{number}" if number else ""))
        try:
            with open(backup, "xb") as file:  # never over another one
                file.write(path.read_bytes())
        except FileExistsError:
            number += 1
            continue
        shutil.copystat(path, backup)
        return backup


def _put(path: Path, edit: FileEdit) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(edit.after)
        shutil.copymode(path, name)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def offer(fix: Fix, yes: bool = False) -> bool:
    """Show the edit, ask, write it, and say what was done; whether it was written.

    Without a terminal to ask on, only `yes` lets it be written.
    """
    edit = edit_of(fix)
    if edit is None or not fix.diff:
        print("retrograd doctor: there is no edit to apply", file=sys.stderr)
        return False
    if not yes:
        if not sys.stdin.isatty():
            print("retrograd doctor: not applied: nobody to ask (use --yes)", file=sys.stderr)
            return False
        print(fix.diff, end="", file=sys.stderr)
        print(f"Apply this to {edit.file}? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            print("retrograd doctor: nothing was changed", file=sys.stderr)
            return False
    try:
        backup = apply(fix)
    except CannotApply as error:
        print(f"retrograd doctor: not applied: {error}", file=sys.stderr)
        return False
    print(f"changed {edit.file}; the text before is in {backup.name}", file=sys.stderr)
    return True
