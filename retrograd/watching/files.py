"""Files that are written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as a plain `open` would have made it
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def as_json(data: object) -> str:
    """JSON of data in which an odd value is written as its text."""
    return json.dumps(data, indent=2, default=str)
