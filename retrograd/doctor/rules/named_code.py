"""Errors that the catalogue knows: what their code says, where no rule has found a cause."""

from __future__ import annotations

from retrograd.diagnostics.catalogue import find
from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched

EDITS = {
    "RG110": ("detach_view", "take a detached one"),
    "RG111": ("fractions", "make it of numbers with fractions"),
    "RG602": ("randomness", 'pass randomness="different" to vmap'),
}
"""Codes whose cure is always the same: the edit (`fixes/wrong_calls.py`), and what it does."""


def diagnose(watched: Watched) -> list[Diagnosis]:
    """The entry of the catalogue for the error that ended the program."""
    error = watched.error
    known = None if error is None else find(str(error))
    at = None if error is None or known is None else raised.where(error, watched)
    if known is None or at is None or not at.from_library:
        return []
    entry, form, facts = known
    found = Diagnosis(
        code=entry.code,
        title=(form.title or entry.summary).format(**facts),
        why=(form.why or f"{entry.summary}.").format(**facts),
        error_line=at.place,
        created_at=[at.place],
        fixes=[Fix("", at.place, text.format(**facts)) for text in form.helps],
        error=at.message,
        spans=[Span("failed", at.place, at.stack)],
        facts={"code": entry.code, **facts},
    )
    edit = EDITS.get(entry.code)
    if edit is not None:
        found.fixes.insert(0, Fix("", at.place, edit[1]))
        found.facts["edit"] = edit[0]
    return [found]
