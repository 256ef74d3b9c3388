"""The pages of causes, of the codes of errors and of lint rules: one Markdown file each.

Their headings are fixed.
The same text serves the command line, `error.explain()` and the documentation, and its two examples
run in the test suite.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from importlib.resources import files

from .catalogue import catalogue, causes, causes_of

CAUSE_HEADINGS = ("What happened", "Example", "What to change")
HEADINGS = (
    "What happened",
    "Why",
    "Example (fails)",
    "Instead (works)",
    "How to look closer",
    "See also",
)


@dataclass(frozen=True)
class Page:
    """A page taken apart: its title line and the text below each heading."""

    code: str
    title: str
    sections: dict[str, str]

    @property
    def fails(self) -> str:
        """The example that raises or warns with the page's code."""
        return example_of(self.sections["Example (fails)"])

    @property
    def works(self) -> str:
        """The example that runs."""
        return example_of(self.sections["Instead (works)"])


def read_page(code: str) -> str:
    """The page of a cause, an error's code or a lint rule's, as Markdown.

    >>> read_page("RG101").splitlines()[0]
    '# RG101: graph-freed'
    """
    text = files(__package__).joinpath("explain", f"{code}.md").read_text("utf-8")
    return text.rstrip() + "\n"


def whole_page(name: str) -> str:
    """The page with what the catalogue knows: the codes of a cause, the causes of a code.

    >>> whole_page("RGL203").splitlines()[-1]
    '- stale-state-carried: a value kept from an earlier iteration still has its history'
    """
    cause = causes().get(name)
    if cause is None:
        found = [f"- {cause.slug}: {cause.summary}" for cause in causes_of(name)]
        return read_page(name) + (_list("Causes", found) if found else "")
    shown = [catalogue()[code] for code in cause.codes]
    entries = [f"- {entry.code} ({entry.slug}): {entry.summary}" for entry in shown]
    rules = [f"- {code}, a rule of `retrograd lint`" for code in cause.rules]
    report = f"- `{name}`, a report of `retrograd doctor`"
    return read_page(name) + _list("Seen as", [*entries, *rules, report])


def _list(heading: str, items: list[str]) -> str:
    lines = [textwrap.fill(item, 88, subsequent_indent="  ") for item in items]
    return "\n".join(["", f"## {heading}", "", *lines, ""])


def parse_page(code: str) -> Page:
    """The page of a code, taken apart."""
    title, *parts = re.split(r"^## (.+)\n", read_page(code), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    return Page(code, title.strip(), sections)


def example_of(section: str) -> str:
    """The program in a section."""
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    return "" if found is None else found[1]
