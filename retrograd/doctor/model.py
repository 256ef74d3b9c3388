"""What the doctor says: a diagnosis with its places and fixes, as plain data.

The vocabulary of causes (`diagnostics.catalogue`) and of kinds of fixes (`diagnostics.report`) is
fixed: programs read it from ``--json``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from retrograd.diagnostics.catalogue import catalogue, causes
from retrograd.diagnostics.report import Fix, Place, Report, Span


@dataclass
class Diagnosis(Report):
    """One finding, most likely cause first in the list that holds it."""

    spans: list[Span] = field(default_factory=list)
    fixes: list[Fix] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ways: list[list[Place]] = field(default_factory=list)  # stacks that led to lines of the fixes
    error_line: Place | None = None  # innermost own line of the error; where a silent fault shows
    created_at: list[Place] = field(default_factory=list)  # where the value at fault was made
    freed_at: Place | None = None
    error: str = ""  # "RuntimeError: first line"; "" for a silent fault
    tensor: str = ""  # what the user calls it: "hidden", "self.memory", "buffer[3]"
    why_not_retain: str = ""  # why retain_graph=True is not the answer, where it is not

    def __post_init__(self) -> None:
        assert self.cause in causes() or (not self.cause and self.code in catalogue()), self.cause

    numbered = True

    @property
    def meaning(self) -> str:
        """What the cause means; of an error without a known cause, what its code means."""
        return causes()[self.cause].summary if self.cause else catalogue()[self.code].summary

    def before_fixes(self) -> list[tuple[str, str]]:
        """The value, unless the title names it, and the reason."""
        value = f"`{self.tensor}`"
        named = [("value", value)] if self.tensor and value not in self.title else []
        return [*named, ("why", self.why or self.meaning)]

    def after_fixes(self) -> list[tuple[str, str]]:
        """Why `retain_graph=True` is not the answer, and the notes."""
        against = self.why_not_retain
        return [*([("not retain_graph=True", against)] if against else []), *super().after_fixes()]

    def to_json(self) -> dict[str, object]:
        """The fields that programs read, and the rest of the report beside them."""
        best = self.fixes[0] if self.fixes else None
        return {
            "category": self.cause or self.code,
            "error_line": None if self.error_line is None else self.error_line.to_json(),
            "created_at": [place.to_json() for place in self.created_at],
            "freed_at": None if self.freed_at is None else self.freed_at.to_json(),
            "fix": None if best is None else {"kind": best.kind, **best.place.to_json()},
            "report": asdict(self),
        }
