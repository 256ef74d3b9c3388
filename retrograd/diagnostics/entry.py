"""What the catalogue is made of: causes, entries (codes) and their forms (messages)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

FAMILIES = {
    "RG1": "lifecycle",
    "RG2": "shape",
    "RG3": "dtype, layout and device",
    "RG4": "hooks and custom Functions",
    "RG5": "numerics",
    "RG6": "transforms and checks",
    "RG9": "unsupported",
}


@dataclass(frozen=True)
class Form:
    """One message of a code: how to recognise it, and the title, cause and advice it leads to.

    `title`, `why` and `helps` may use the pattern's named groups: `{a}`.
    """

    pattern: str
    title: str | None = None
    why: str | None = None
    helps: tuple[str, ...] = ()
    reason: str | None = None
    level: str | None = None  # where it differs from the entry's

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self.pattern)

    def match(self, message: str) -> dict[str, str] | None:
        """The named groups if the message starts with this form's text."""
        found = self._compiled.match(message)
        return None if found is None else {k: v or "" for k, v in found.groupdict().items()}


@dataclass(frozen=True)
class Cause:
    """What a program did: its one name, and the codes under which errors and lint show it."""

    slug: str
    summary: str
    codes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """JSON-ready data for the list of causes."""
        return {
            "cause": self.slug,
            "summary": self.summary,
            "codes": list(self.codes),
            "rules": list(self.rules),
            "page": f"{self.slug}.md",
        }


@dataclass(frozen=True, repr=False)
class Entry:
    """A code with everything that does not depend on the single case."""

    code: str
    slug: str
    summary: str
    forms: tuple[Form, ...]
    reasons: tuple[str, ...] = ()
    level: str = "error"

    def __repr__(self) -> str:
        return f"Entry({self.code!r}, {self.slug!r})"

    @property
    def family(self) -> str:
        """The family's name, such as "lifecycle"."""
        return FAMILIES[self.code[:3]]

    def form_of(self, message: str) -> tuple[Form | None, dict[str, str]]:
        """The form of a message of this code, and the facts that it states."""
        for form in self.forms:
            facts = form.match(message)
            if facts is not None:
                return form, facts
        return None, {}

    @property
    def page(self) -> str:
        """The file of the code's page, below `explain/`."""
        return f"{self.code}.md"

    def to_dict(self) -> dict[str, object]:
        """JSON-ready data for the list of codes."""
        return {
            "code": self.code,
            "slug": self.slug,
            "family": self.family,
            "level": self.level,
            "summary": self.summary,
            "reasons": list(self.reasons),
            "page": self.page,
        }
