"""Codes RG5xx: numbers that go wrong."""

from __future__ import annotations

from .entry import Entry, Form

NUMERICS: tuple[Entry, ...] = (
    Entry(
        "RG502",
        "matrix-not-invertible",
        "a matrix has no inverse or is not positive definite",
        (
            Form(
                r"(?P<name>[\w.]+): .*not positive-definite",
                "{name} needs a positive definite matrix",
                None,
                ("add a small multiple of the identity to the matrix",),
                "not-positive-definite",
            ),
            Form(
                r"(?P<name>[\w.]+): .*input matrix is singular",
                "{name} was given a singular matrix",
                None,
                ("add a small multiple of the identity, or use linalg.lstsq or linalg.pinv",),
                "singular",
            ),
        ),
        ("not-positive-definite", "singular"),
    ),
)
