"""Reports as text: source lines with labels below them, then why, help and notes.

All questions of width and colour are answered here and nowhere else. The text has no colour unless
it is asked for, and no trailing spaces.
"""

from __future__ import annotations

import os
import textwrap
import unicodedata

from .report import Edit, Fix, Place, Report, Span

WIDTH = 100
NARROWEST = 40
TAB = 4

# Roles are named by what they mark; the numbers are ANSI colours (bold red, bold blue, ...).
_ANSI = {
    "error": "1;31",
    "warning": "1;33",
    "primary": "1;31",
    "secondary": "1;34",
    "frame": "1;34",
    "removed": "31",
    "added": "32",
    "heading": "1",
}


class _Painter:
    """Wraps pieces of text in colour codes, or leaves them alone."""

    def __init__(self, color: bool) -> None:
        self.color = color and not os.environ.get("NO_COLOR")

    def __call__(self, role: str, text: str) -> str:
        if not self.color or not text:
            return text
        return f"\x1b[{_ANSI[role]}m{text}\x1b[0m"


def render(report: Report, *, width: int = WIDTH, color: bool = False) -> str:
    """The report as text, at most `width` columns wide where words allow it.

    >>> print(render(Report("RG104", "backward() needs a scalar")))
    error[RG104]: backward() needs a scalar
    more: python -m retrograd explain RG104
    """
    paint = _Painter(color)
    width = max(width, NARROWEST)
    gutter = max((len(str(span.place.line)) for span in report.spans), default=2)
    gutter = max(gutter, 2)

    heading = _wrap(f"{report.level}[{report.code}]: {report.title}", "", "    ", width)
    code = f"{report.level}[{report.code}]"
    heading[0] = paint(report.level, code) + paint("heading", heading[0].removeprefix(code))
    lines = heading
    lines += _render_spans(report, gutter, width, paint)
    if report.why:
        lines += _labelled("why", report.why, width, paint)
    shown = {(span.place.file, span.place.line) for span in report.spans}
    for item in report.fixes:
        lines += _render_help(item, gutter, width, shown, paint)
    for note in report.notes:
        lines += _labelled("note", note, width, paint)
    lines.append(f"{paint('heading', 'more:')} {report.more}")
    return "\n".join(line.rstrip() for line in lines)


def display_path(file: str) -> str:
    """The path as a person would type it: relative where it lies below the current folder.

    >>> display_path("<stdin>")
    '<stdin>'
    """
    if file.startswith("<"):
        return "<stdin>" if file.startswith("<stdin-") else file  # 3.13 numbers what is typed
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):
        return file
    return file if relative.startswith("..") else relative


def place(at: Place) -> str:
    """`file:line:column`, the column counted from 1 as editors do."""
    text = f"{display_path(at.file)}:{at.line}"
    return text if at.column is None else f"{text}:{at.column + 1}"


def _labelled(label: str, text: str, width: int, paint: _Painter) -> list[str]:
    lines = _wrap(text, f"{label}: ", " " * (len(label) + 2), width)
    lines[0] = paint("heading", f"{label}:") + lines[0].removeprefix(f"{label}:")
    return lines


def _wrap(text: str, first: str, rest: str, width: int) -> list[str]:
    # Words are never broken: a long name or path that is too wide may stick out, but can be copied.
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first]


# --- source lines ---------------------------------------------------------------------------------


def _render_spans(report: Report, gutter: int, width: int, paint: _Painter) -> list[str]:
    primary = report.primary
    if primary is None:
        return []
    bar = paint("frame", " " * gutter + " |")
    lines = [" " * gutter + paint("frame", "--> ") + place(primary.place), bar]
    ordered = sorted(report.spans, key=lambda span: (span.order is None, span.order or 0))
    file, line = primary.place.file, None
    for span in ordered:
        where = span.place
        if where.file != file:
            lines.append(" " * gutter + paint("frame", "::: ") + place(where))
            lines.append(bar)
            line = None
        if where.line != line:
            if line is not None and where.line != line + 1:
                lines.append(paint("frame", "..."))
            number = paint("frame", f"{where.line:>{gutter}} |")
            source = "" if where.source is None else " " + _crop(span, width - gutter - 3)[0]
            lines.append(number + source)
        lines += _annotate(span, gutter, width, paint)
        file, line = where.file, where.line
    lines.append(bar)
    return lines


def _annotate(span: Span, gutter: int, width: int, paint: _Painter) -> list[str]:
    bar = paint("frame", " " * gutter + " |")
    room = width - gutter - 3
    role = "primary" if span.primary else "secondary"
    label = span.label if span.order is None else f"{span.order} {span.label}"
    hang = "" if span.order is None else " " * (len(str(span.order)) + 1)
    _, start, length = _crop(span, room)
    marks = ("^" if span.primary else "-") * length
    if start + length + 1 + len(label) <= room and length:
        return [f"{bar} {' ' * start}{paint(role, marks)} {paint(role, label)}"]
    lines = [f"{bar} {' ' * start}{paint(role, marks)}"] if length else []
    # Below the marks, moved left as far as needed to leave a readable measure.
    indent = " " * max(0, min(start, room - 40))
    for piece in _wrap(label, indent, indent + hang, room):
        text = piece.strip()
        spaces = piece[: len(piece) - len(text)]
        lines.append(f"{bar} {spaces}{paint(role, text)}")
    return lines


def _crop(span: Span, room: int) -> tuple[str, int, int]:
    """The span's line cut to `room` columns around it; start and length of its marks."""
    where = span.place
    source = where.source or ""
    if where.source is None or where.column is None:
        return _expand(source)[:room], 0, 0
    end = where.end_column
    if end is None or where.end_line not in (None, where.line):
        end = len(source.rstrip())
    start_width = _columns(source[: where.column])
    length = max(1, _columns(source[: max(end, where.column)]) - start_width)
    text = _expand(source).rstrip()
    if _columns(text) <= room:
        return text, start_width, length
    # Too long: keep what is marked, and as much before it as fits.
    first = 0
    if start_width + length > room:
        first = max(0, min(start_width - 8, start_width + length - room + 8))
    pieces = _take(text, first, room)
    if first:
        pieces = "..." + _take(text, first + 3, room - 3)
    if first + room < _columns(text):
        pieces = _take(pieces, 0, room - 3) + "..."
    start = start_width - first
    return pieces, start, min(length, room - start)


def _expand(text: str) -> str:
    return text.replace("\t", " " * TAB)


def _columns(text: str) -> int:
    """How many terminal columns a text takes: tabs and East Asian wide characters count more."""
    return sum(_column(character) for character in text)


def _column(character: str) -> int:
    if character == "\t":
        return TAB
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _take(text: str, first: int, count: int) -> str:
    """The characters of `text` that lie in `count` columns from column `first` on."""
    taken, at = [], 0
    for character in text:
        size = _column(character)
        if at >= first and at + size <= first + count:
            taken.append(character)
        at += size
    return "".join(taken)


# --- help and its edits ---------------------------------------------------------------------------


def _render_help(
    item: Fix, gutter: int, width: int, shown: set[tuple[str, int]], paint: _Painter
) -> list[str]:
    lines = _labelled("help", item.text, width, paint)
    if item.edit is None:
        return lines
    edit = item.edit
    if (edit.file, edit.line) not in shown:
        where = f"{display_path(edit.file)}:{edit.line}"
        lines.append(" " * gutter + paint("frame", "--> ") + where)
    bar = paint("frame", " " * gutter + " |")
    lines.append(bar)
    if edit.before is not None:
        removed = f"{'-':<{gutter}} | {_expand(edit.before)}"
        lines.append(paint("removed", removed.rstrip()))
    if edit.after is not None:
        added = f"{'+':<{gutter}} | {_expand(edit.after)}"
        lines.append(paint("added", added.rstrip()))
    marks = _marks(edit)
    if marks:
        lines.append(f"{bar} {paint('added', marks)}")
    return lines


def _marks(edit: Edit) -> str:
    """`+` below inserted characters, `~` below replaced ones; nothing for whole lines."""
    if edit.before is None or edit.after is None:
        return ""
    marked = {column for start, end in edit.changed for column in range(start, end)}
    mark = "+" if len(edit.after) - len(edit.before) == len(marked) else "~"
    return "".join(
        (mark if column in marked else " ") * _column(character)
        for column, character in enumerate(edit.after)
    ).rstrip()
