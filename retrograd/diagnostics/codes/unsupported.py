"""Codes RG9xx: what does not exist here."""

from __future__ import annotations

from .entry import Entry, Form

UNSUPPORTED: tuple[Entry, ...] = (
    Entry(
        "RG901",
        "not-supported",
        "a part of PyTorch's interface that retrograd does not have",
        (
            Form(
                r"retrograd does not support (?P<what>.+?)(?=$|[;:,.] )",
                "{what} is not supported",
                "It exists in PyTorch, but not here; nothing was computed instead.",
            ),
        ),
    ),
)
