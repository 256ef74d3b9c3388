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
class Edit:
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


@dataclass(frozen=True)
class Fix:
    """A change of the program. A safe one changes nothing that is computed on purpose."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool = False


@dataclass(frozen=True)
class Finding:
    """One report: what, where, what to do. Lines count from 1, columns too."""

    code: str
    slug: str
    message: str
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    helps: tuple[str, ...] = ()
    fix: Fix | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, object]:
        """JSON-ready data."""
        fix = None
        if self.fix is not None:
            fix = {"message": self.fix.message, "safe": self.fix.safe}
        return {
            "code": self.code,
            "slug": self.slug,
            "message": self.message,
            "file": self.path,
            "line": self.line,
            "column": self.column,
            "end_line": self.end_line,
            "end_column": self.end_column,
            "helps": list(self.helps),
            "fix": fix,
        }


@dataclass(frozen=True)
class Found:
    """What a rule yields: the part of the program, what to say about it, what to do."""

    node: ast.AST
    message: str
    helps: tuple[str, ...] = ()
    fix: Fix | None = None


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
            "level": "warning" if self.default else "hint",
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
