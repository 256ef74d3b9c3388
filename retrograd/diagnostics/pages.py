"""The pages of the codes of errors and lint rules: one Markdown file each, with fixed headings.

The same text serves the command line, `error.explain()` and the documentation, and its two examples
run in the test suite.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources import files

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
    """The page of an error's code or of a lint rule's, as Markdown.

    >>> read_page("RG101").splitlines()[0]
    '# RG101: graph-freed'
    """
    text = files(__package__).joinpath("explain", f"{code}.md").read_text("utf-8")
    return text.rstrip() + "\n"


def parse_page(code: str) -> Page:
    """The page of a code, taken apart."""
    title, *parts = re.split(r"^## (.+)\n", read_page(code), flags=re.MULTILINE)
    sections = dict(zip(parts[::2], (part.strip() for part in parts[1::2]), strict=True))
    return Page(code, title.strip(), sections)


def example_of(section: str) -> str:
    """The program in a section."""
    found = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    return "" if found is None else found[1]
