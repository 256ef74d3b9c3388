"""What a diagnosis is made of: plain data, free of tensors, frames and code objects.

A report can be pickled, printed and turned into JSON. It holds no reference into the graph, so an
exception that is kept somewhere never keeps arrays alive.

>>> place = Location("train.py", 11, 8, 11, 26, source="    h = rg.tanh(x + h @ W)")
>>> place.text
'rg.tanh(x + h @ W)'
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Location:
    """A piece of a source file. Lines count from 1, columns are characters and count from 0.

    `column`, `end_column` and `source` (the whole first line) are None when the source is not at
    hand; `file` and `line` are always known.
    """

    file: str
    line: int
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    function: str | None = None
    source: str | None = None

    @property
    def text(self) -> str | None:
        """The exact text of a location that lies within one line."""
        if self.source is None or self.column is None or self.end_column is None:
            return None
        if self.end_line not in (None, self.line):
            return None
        return self.source[self.column : self.end_column]


@dataclass(frozen=True, slots=True)
class Span:
    """A location with the sentence that belongs to it; `order` tells the story's sequence."""

    location: Location
    label: str
    primary: bool = False
    order: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """One changed line: `before` is None for an inserted line, `after` is None for a removed one.

    `changed` has the pieces of `after` that are new, as (start, end) columns.
    """

    file: str
    line: int
    before: str | None
    after: str | None
    changed: tuple[tuple[int, int], ...] = ()

    @classmethod
    def replacing(
        cls, file: str, line: int, source: str, pieces: dict[tuple[int, int], str]
    ) -> Edit:
        """The edit that puts each text of `pieces` in place of its (start, end) columns.

        >>> Edit.replacing("t.py", 3, "y = h @ W", {(5, 5): ".detach()"}).after
        'y = h.detach() @ W'
        """
        after, taken, changed = "", 0, []
        for (start, end), text in sorted(pieces.items()):
            after += source[taken:start]
            changed.append((len(after), len(after) + len(text)))
            after += text
            taken = end
        return cls(file, line, source, after + source[taken:], tuple(changed))


@dataclass(frozen=True, slots=True)
class Help:
    """One thing to try. `kind` is a short name for tools, such as "detach" or "combine-losses"."""

    text: str
    edit: Edit | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """A whole diagnosis, from the title to the pointer to the code's page."""

    code: str
    title: str
    spans: tuple[Span, ...] = ()
    why: str | None = None
    helps: tuple[Help, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str | None = None
    level: str = "error"
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def more(self) -> str:
        """Where to read on."""
        return f"python -m retrograd explain {self.code}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from html import escape

        from retrograd.diagnostics.render import render

        return f"<pre>{escape(render(self))}</pre>"

    @property
    def primary(self) -> Span | None:
        """The span that the report points at first."""
        for span in self.spans:
            if span.primary:
                return span
        return self.spans[-1] if self.spans else None

    def to_dict(self) -> dict[str, object]:
        """The report as JSON-ready data."""
        return {**asdict(self), "more": self.more}
