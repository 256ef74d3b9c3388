"""Reports as text: source lines with labels below them, then why, fixes and notes.

The errors of the library and the doctor's findings are drawn here, and lint takes its colours from
here: all questions of width and colour are answered once. The text has no colour unless it is asked
for, no trailing spaces, and says nothing by colour alone.
"""

from __future__ import annotations

import os
import re
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from typing import TextIO

from .report import Edit, Fix, Place, Report, Span

WIDTH = 100
NARROWEST = 40
TAB = 4

# Roles are named by what they mark; the numbers are ANSI colours (bold red, bold blue, ...).
_ANSI = {
    "error": "1;31",
    "warning": "1;33",
    "hint": "1;36",
    "primary": "1;31",
    "secondary": "1;34",
    "frame": "1;34",
    "removed": "31",
    "added": "32",
    "heading": "1",
    "help": "36",
}


def has_colour(stream: TextIO | None) -> bool:
    """Whether a stream shows colours: a terminal does, unless NO_COLOR or FORCE_COLOR decide."""
    if stream is None or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


class Painter:
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
    paint = Painter(color)
    width = max(width, NARROWEST)
    spans = _in_order(report)
    gutter = max([2, *(len(str(span.place.line)) for span in spans), *_numbers(report)])
    name = f"{report.level}[{report.code or report.cause}]"
    lines = wrap(f"{name}: {report.title}", "", "    ", width)
    lines[0] = paint(report.level, name) + paint("heading", lines[0].removeprefix(name))
    lines += _draw_spans(spans, gutter, width, paint)
    for label, text in (*_calls(spans), *report.before_fixes()):
        lines += labelled(label, text, width, paint)
    shown = {(span.place.file, span.place.line) for span in spans}
    for number, fix in enumerate(report.fixes, 1):
        words = fix.text
        if report.numbered:
            shown.clear()  # each says where it goes
            words = ": ".join(part for part in (fix.kind, fix.text) if part)
        label = f"fix {number}" if report.numbered else "help"
        lines += labelled(label, words, width, paint)
        lines += _draw_fix(fix, gutter, width, shown, paint)
    for label, text in report.after_fixes():
        lines += labelled(label, text, width, paint)
    lines += labelled("more", report.more, width, paint)
    return "\n".join(line.rstrip() for line in lines)


def _in_order(report: Report) -> list[Span]:
    """The spans as they are told: numbered if there are several, one of them marked."""
    spans = sorted(report.spans, key=lambda span: (span.order is None, span.order or 0))
    if len(spans) > 1 and all(span.order is None for span in spans):
        spans = [replace(span, order=number) for number, span in enumerate(spans, 1)]
    if spans and not any(span.primary for span in spans):
        spans[-1] = replace(spans[-1], primary=True)
    return spans


def _calls(spans: list[Span]) -> Iterator[tuple[str, str]]:
    """How the program came to a place that lies in a function: the calls, outermost first."""
    for span in spans:
        calls = [called for called in span.stack if called.to_json() != span.place.to_json()]
        if calls:
            way = ", ".join(name_of(called, span.place.file) for called in calls)
            yield f"place {span.order or 1}", f"called in {way}"


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


def name_of(at: Place, file: str = "") -> str:
    """`file:line (function)`; only the line if it lies in `file`."""
    inside = f" ({at.function})" if at.function not in ("", "<module>") else ""
    if at.file == file:
        return f"line {at.line}{inside}"
    return f"{display_path(at.file)}:{at.line}{inside}"


def place(at: Place) -> str:
    """`file:line:column`, the column counted from 1 as editors do."""
    text = f"{display_path(at.file)}:{at.line}"
    return text if at.column is None else f"{text}:{at.column + 1}"


def labelled(label: str, text: str, width: int, paint: Painter) -> list[str]:
    """A label and what belongs to it; a long label does not push the text to the right."""
    hang = " " * (4 if len(label) > 8 else len(label) + 2)
    lines = wrap(text, f"{label}: ", hang, width)
    lines[0] = paint("heading", f"{label}:") + lines[0].removeprefix(f"{label}:")
    return lines


def wrap(text: str, first: str, rest: str, width: int) -> list[str]:
    """The text in lines; the first and the others begin as told."""
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


def _draw_spans(spans: list[Span], gutter: int, width: int, paint: Painter) -> list[str]:
    if not spans:
        return []
    bar = paint("frame", " " * gutter + " |")
    primary = next(span for span in spans if span.primary)
    lines = [" " * gutter + paint("frame", "--> ") + place(primary.place), bar]
    file, line = primary.place.file, None
    for span in spans:
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


def _annotate(span: Span, gutter: int, width: int, paint: Painter) -> list[str]:
    bar = paint("frame", " " * gutter + " |")
    room = width - gutter - 3
    role = "primary" if span.primary else "secondary"
    label = f"{span.label}: {span.iteration}" if span.iteration else span.label
    label = label if span.order is None else f"{span.order} {label}"
    hang = "" if span.order is None else " " * (len(str(span.order)) + 1)
    _, start, length = _crop(span, room)
    marks = ("^" if span.primary else "-") * length
    if start + length + 1 + len(label) <= room and length:
        return [f"{bar} {' ' * start}{paint(role, marks)} {paint(role, label)}"]
    lines = [f"{bar} {' ' * start}{paint(role, marks)}"] if length else []
    # Below the marks, moved left as far as needed to leave a readable measure.
    indent = " " * max(0, min(start, room - 40))
    for piece in wrap(label, indent, indent + hang, room):
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
    return _fit(_expand(source).rstrip(), start_width, length, room)


def _fit(text: str, start: int, length: int, room: int) -> tuple[str, int, int]:
    """A line cut to `room` columns around what is marked in it; where the marks then are."""
    if _columns(text) <= room:
        return text, start, length
    # Too long: keep what is marked, and as much before it as fits.
    first = 0
    if start + length > room:
        first = max(0, min(start - 8, start + length - room + 8))
    piece = _take(text, first, room)
    if first:
        piece = "..." + _take(text, first + 3, room - 3)
    if first + room < _columns(text):
        piece = _take(piece, 0, room - 3) + "..."
    return piece, start - first, min(length, room - (start - first))


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


# --- fixes and their edits ------------------------------------------------------------------------

Row = tuple[str, int, str]
"""A line of a change: " ", "-", "+" or "..." for a gap, its number before the change, its text."""


def rows_of(fix: Fix) -> list[Row]:
    """The changed lines of a fix and their neighbours."""
    edit = fix.edit
    if not fix.diff and edit is not None:
        rows = (("-", edit.line, edit.before), ("+", edit.line, edit.after))
        return [(sign, line, text) for sign, line, text in rows if text is not None]
    found: list[Row] = []
    number = 0
    for line in fix.diff.splitlines():
        if header := re.match(r"@@ -(\d+)", line):
            if found:
                found.append(("...", 0, ""))
            number = int(header[1])
        elif number and not line.startswith("\\"):
            found.append((line[:1] or " ", number, line[1:]))
            number += not line.startswith("+")
    while found and found[-1][0] == " " and not found[-1][2].strip():
        found.pop()
    return found


def tried(fix: Fix) -> str:
    """What trying a fix has shown; "" if it was not tried and nothing is said about that."""
    words = {True: "it helps", False: "it does not help", None: ""}[fix.verified]
    said = fix.verification or words
    bare = fix.verified is not None and not said.startswith("tried:")
    return f"tried: {said}" if bare else said


def _numbers(report: Report) -> list[int]:
    return [len(str(number)) for fix in report.fixes for _, number, _ in rows_of(fix)]


def _draw_fix(
    fix: Fix, gutter: int, width: int, shown: set[tuple[str, int]], paint: Painter
) -> list[str]:
    lines = []
    at, bar = fix.place, paint("frame", " " * gutter + " |")
    if at.line and (at.file, at.line) not in shown:
        lines.append(" " * gutter + paint("frame", "--> ") + name_of(at))
    rows = rows_of(fix)
    if rows:
        lines += [bar, *_draw_rows(rows, fix.edit, gutter, width, paint)]
    elif at.source:
        text = _fit(_expand(at.source).rstrip(), 0, 0, width - gutter - 3)[0]
        lines += [bar, paint("frame", f"{at.line:>{gutter}} |") + f" {text}"]
    for sentence in (f"cost: {fix.cost}" if fix.cost else "", tried(fix)):
        if sentence:
            lines += wrap(sentence, "   ", "      ", width)
    return lines


def _draw_rows(
    rows: list[Row], edit: Edit | None, gutter: int, width: int, paint: Painter
) -> Iterator[str]:
    room = width - gutter - 3
    pairs = _pairs(rows)
    for index, (sign, number, text) in enumerate(rows):
        if sign == "...":
            yield paint("frame", "...")
            continue
        other = pairs.get(index)
        changed = () if other is None else _changed(rows[other][2], text, edit)
        start = _columns(text[: changed[0][0]]) if changed else 0
        length = _columns(text[: changed[-1][1]]) - start if changed else 0
        piece, moved, _ = _fit(_expand(text).rstrip(), start, length, room)
        if sign == " ":
            yield paint("frame", f"{number:>{gutter}} |") + f" {piece}"
            continue
        role = "removed" if sign == "-" else "added"
        yield paint(role, f"{sign:<{gutter}} | {piece}".rstrip())
        if sign == "+" and changed and other is not None:
            marks = _marks(rows[other][2], text, changed)[start : start + length].rstrip()
            if marks:
                bar = paint("frame", " " * gutter + " |")
                yield f"{bar} {' ' * moved}{paint('added', marks[: room - moved])}"


def _pairs(rows: list[Row]) -> dict[int, int]:
    """Which removed line an added one replaces, and the other way round: one for one."""
    pairs: dict[int, int] = {}
    signs = "".join(sign if sign in "+-" else " " for sign, _, _ in rows)
    for found in re.finditer(r"(-+)(\++)", signs):
        if len(found[1]) == len(found[2]):
            for removed in range(*found.span(1)):
                pairs[removed] = removed + len(found[1])
                pairs[removed + len(found[1])] = removed
    return pairs


def _changed(other: str, text: str, edit: Edit | None) -> tuple[tuple[int, int], ...]:
    """The columns of a line that are not in the other one: between their common ends."""
    if edit is not None and edit.after == text and edit.changed:
        return edit.changed
    start = _alike(other, text)
    return ((start, len(text) - _alike(other[start:][::-1], text[start:][::-1])),)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _marks(before: str, after: str, changed: tuple[tuple[int, int], ...]) -> str:
    """`+` below inserted characters, `~` below replaced ones."""
    marked = {column for start, end in changed for column in range(start, end)}
    mark = "+" if len(after) - len(before) == len(marked) else "~"
    return "".join(
        (mark if column in marked else " ") * _column(character)
        for column, character in enumerate(after)
    )
