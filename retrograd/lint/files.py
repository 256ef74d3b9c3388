"""Finds, reads and writes the files that are checked."""

from __future__ import annotations

import io
import os
import tempfile
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

NOT_READ = frozenset(
    "__pycache__ build dist node_modules site-packages venv env .venv .git .hg .tox .nox".split()
)
"""Folders in which there are no programs of the user's."""


def python_files(paths: Iterable[Path]) -> Iterator[Path]:
    """The files of the paths: a file as it is, a folder's `.py` files, sorted."""
    seen: set[Path] = set()
    for path in paths:
        for file in _below(path) if path.is_dir() else [path]:
            if file not in seen:
                seen.add(file)
                yield file


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in NOT_READ and not f.startswith("."))
        for name in sorted(names):
            if name.endswith((".py", ".pyw")):
                yield Path(place, name)


def decoded(data: bytes) -> tuple[str, str]:
    """A program's text and its encoding; line ends stay as they are."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return data.decode(encoding), encoding


def write_whole(path: Path, text: str, encoding: str) -> None:
    """Replace a file's text: a reader sees the old one or the new one, never a part."""
    path = path.resolve()  # a link stays a link
    data = text.encode(encoding)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, path.stat().st_mode & 0o7777)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
