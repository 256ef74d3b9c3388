"""The page: one HTML file that shows a recorded graph's life, with no other file and no network.

The page itself is built from the TypeScript in `page/` and ships in the package (`make page`); here
the recordings are put into it.
"""

from __future__ import annotations

import base64
import gzip
import os
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from retrograd.graph.schema import Recording, to_json

ASSET = files("retrograd.graph") / "asset" / "page.html"
MARKER = '<script id="recording" type="text/plain">'


def page(recordings: Recording | Sequence[Recording]) -> str:
    """The text of the page with these recordings in it.

    They are gzip in base64, so nothing in a program's text can end the script tag they are in, and
    the same recordings give the same page.
    """
    data = gzip.compress(to_json(recordings).encode(), mtime=0)
    before, marker, after = ASSET.read_text("utf-8").partition(MARKER)
    if not marker:
        raise ValueError(f"the page in {ASSET} has no place for a recording; run `make page`")
    return before + marker + base64.b64encode(data).decode("ascii") + after


def write_page(recordings: Recording | Sequence[Recording], path: str | os.PathLike[str]) -> Path:
    """Write the page to `path`; several recordings are shown in tabs, and two of them side by side.

    The file is written beside its place and renamed, so a reader never sees half of it.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_text(page(recordings), "utf-8")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return target
