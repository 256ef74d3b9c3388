"""A device without memory: the error, and the lines that hold the most of it."""

from __future__ import annotations

from retrograd.backend.cuda.errors import OutOfMemoryError, in_units
from retrograd.diagnostics.errors import make_error

_MOST = 5


def error(text: str) -> Exception:
    """PyTorch's error with what `graph.ledger` knows: bytes that are kept for backward, by line."""
    return make_error(text, OutOfMemoryError, code="RG309", notes=_holders())


def _holders() -> list[str]:
    from retrograd.graph.ledgers import ledger

    try:
        found = ledger(engine="retrograd").by("line")[:_MOST]
    except Exception:  # the report is an addition: the error itself must not get lost
        return []
    return [f"{in_units(row.bytes)} are kept for backward by {row.key}" for row in found]
