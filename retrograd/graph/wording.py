"""Words that all tools of the graph use: sizes, lines, counts."""

from __future__ import annotations

from retrograd.diagnostics.render import display_path
from retrograd.diagnostics.report import Place


def size(count: int) -> str:
    """A number of bytes for a person.

    >>> size(0), size(999), size(1536), size(3158020), size(5 * 1024**3)
    ('0 B', '999 B', '1.5 KiB', '3.0 MiB', '5.0 GiB')
    """
    power = min((max(count, 1).bit_length() - 1) // 10, 3)
    return f"{count} B" if not power else f"{count / 1024**power:.1f} {' KMG'[power]}iB"


def where(place: Place | None) -> str:
    """`train.py:12`, relative to the current folder; empty where the line is not known."""
    return "" if place is None else f"{display_path(place.file)}:{place.line}"


def counted(number: int, thing: str) -> str:
    """
    >>> counted(1, "node"), counted(3, "leaf")
    ('1 node', '3 leaves')
    """
    if number == 1:
        return f"1 {thing}"
    return f"{number:,} {'leaves' if thing == 'leaf' else thing + 's'}"
