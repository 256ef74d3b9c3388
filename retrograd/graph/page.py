"""The page: one HTML file that shows a recorded graph's life, with no other file and no network.

The page itself is built from the TypeScript in `page/` and ships in the package (`make page`); here
the recordings are put into it, and the text of a report that is about them.
"""

from __future__ import annotations

import base64
import gzip
import os
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from retrograd.graph.schema import Recording, to_json

ASSET = files("retrograd.graph") / "asset" / "page.html"
STYLE = files("retrograd.graph") / "asset" / "report.html"
MARKER = '<script id="recording" type="text/plain">'
REPORT = '<article id="report" class="report" hidden>'
TITLE = "<title>The life of a graph"


def page(recordings: Recording | Sequence[Recording], report: str = "", title: str = "") -> str:
    """The text of the page with these recordings in it.

    report   the text of a report, as HTML: it stands beside the picture, or alone where there is
             no recording; a link in it with `data-nodes` and `data-time` shows these nodes then
    title    what the report is called

    Recordings are gzip in base64, so nothing in a program's text can end the script tag they are
    in, and the same recordings give the same page.
    """
    data = gzip.compress(to_json(recordings).encode(), mtime=0)
    text = ASSET.read_text("utf-8")
    if report:
        text = _filled(text, TITLE, f"<title>{escape(title)}")
        text = _filled(text, REPORT, REPORT.replace(" hidden", "") + report)
    return _filled(text, MARKER, MARKER + base64.b64encode(data).decode("ascii"))


def notebook_style() -> str:
    """The style of a report that stands in somebody else's page, as a `style` element.

    It holds inside an element of class `retrograd-report` only.
    """
    return STYLE.read_text("utf-8")


def _filled(text: str, marker: str, filling: str) -> str:
    before, found, after = text.partition(marker)
    if not found:
        raise ValueError(f"the page in {ASSET} has no {marker}; run `make page`")
    return before + filling + after


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
