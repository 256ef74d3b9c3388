"""What a rule is made of: its declaration with its page, what it finds, and how that is changed.

A rule is one function. Its page is among those of the errors, `diagnostics/explain/RGL101.md`, in
fixed headings; the test suite reads the two examples of every page: the first must be reported, the
second must not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from ..diagnostics.pages import example_of, parse_page, read_page
from ..diagnostics.report import NOWHERE, Fix, Place, Report
from .program import Program

HEADINGS = ("What it does", "Why is this bad", "Example", "Use instead", "Fix safety")

FAMILIES = {
    "RGL1": "memory that grows",
    "RGL2": "the life of the graph",
    "RGL3": "a graph that is cut",
    "RGL4": "optimizers and modules",
    "RGL5": "hints",
}


@dataclass(frozen=True)
class Change:
    """One change of the text. `node` is the part of the program that it is about.

    `kind` is one of `KINDS`; `text` says with what.
    """

    kind: str
    node: ast.AST
    text: str = ""


KINDS = (
    "method",  # EXPRESSION -> EXPRESSION.text()
    "call",  # EXPRESSION -> EXPRESSION()
    "argument",  # FUNCTION(EXPRESSION) -> EXPRESSION, or EXPRESSION.text if there is text
    "wrap",  # EXPRESSION -> text(EXPRESSION)
    "keyword",  # FUNCTION(..., text=...) -> FUNCTION(...)
    "callee",  # EXPRESSION.attribute(...) -> EXPRESSION(...)
    "detach",  # EXPRESSION.data -> EXPRESSION.detach()
    "drop-data",  # EXPRESSION.data -> EXPRESSION
    "assign",  # EXPRESSION statement -> text = EXPRESSION
    "before",  # the statement text is put before the statement
    "block",  # STATEMENT -> with text: STATEMENT
    "remove",  # the statement goes
)


@dataclass
class Repair(Fix):
    """A fix that can be made. A safe one changes nothing that is computed on purpose."""

    changes: tuple[Change, ...] = ()
    safe: bool = False


def repair(text: str, changes: tuple[Change, ...], safe: bool = False) -> Repair:
    """The fix that these changes make."""
    return Repair(text=text, changes=changes, safe=safe)


@dataclass
class Finding(Report):
    """One report: what, where, what to do."""

    slug: str = ""
    place: Place = NOWHERE
    repair: Repair | None = field(default=None, compare=False)

    @property
    def line(self) -> int:
        """Its first line."""
        return self.place.line

    @property
    def start(self) -> tuple[int, int]:
        """Its first line and column, both counted from 1 as editors do."""
        return self.place.line, (self.place.column or 0) + 1

    @property
    def end(self) -> tuple[int, int]:
        """Its last line, and the column behind it."""
        return self.place.end_line or self.place.line, (self.place.end_column or 0) + 1

    def to_dict(self) -> dict[str, object]:
        """JSON-ready data."""
        fix = None
        if self.repair is not None:
            fix = {"message": self.repair.text, "safe": self.repair.safe}
        return {
            "code": self.code,
            "slug": self.slug,
            "message": self.title,
            "file": self.place.file,
            "line": self.start[0],
            "column": self.start[1],
            "end_line": self.end[0],
            "end_column": self.end[1],
            "helps": [fix.text for fix in self.fixes],
            "fix": fix,
        }


@dataclass(frozen=True)
class Found:
    """What a rule yields: the part of the program, what to say about it, what to do."""

    node: ast.AST
    message: str
    helps: tuple[str, ...] = ()
    repair: Repair | None = None


Check = Callable[["Program"], Iterator[Found]]


@dataclass(frozen=True, repr=False)
class Rule:
    """A code with its check and its page."""

    code: str
    slug: str
    summary: str
    check: Check
    default: bool = True
    fix: str = "none"  # none, safe, unsafe

    def __repr__(self) -> str:
        return f"Rule({self.code!r}, {self.slug!r})"

    @property
    def level(self) -> str:
        """How much it weighs: "warning" or "hint"."""
        return "warning" if self.default else "hint"

    @property
    def family(self) -> str:
        """The family's name, such as "memory that grows"."""
        return FAMILIES[self.code[:4]]

    @property
    def sections(self) -> dict[str, str]:
        """The text below each heading of the page."""
        return parse_page(self.code).sections

    @property
    def page(self) -> str:
        """The page as Markdown."""
        return read_page(self.code)

    @property
    def reported(self) -> str:
        """The example that is reported."""
        return example_of(self.sections["Example"])

    @property
    def silent(self) -> str:
        """The example that is not."""
        return example_of(self.sections["Use instead"])

    def to_dict(self) -> dict[str, object]:
        """JSON-ready data for the list of codes."""
        return {
            "code": self.code,
            "slug": self.slug,
            "family": f"lint: {self.family}",
            "level": self.level,
            "summary": self.summary,
            "default": self.default,
            "fix": self.fix,
        }


def rule(
    code: str, slug: str, summary: str, *, default: bool = True, fix: str = "none"
) -> Callable[[Check], Rule]:
    """Declare a rule; its page is `diagnostics/explain/CODE.md`."""

    def declare(check: Check) -> Rule:
        return Rule(code, slug, summary, check, default, fix)

    return declare
