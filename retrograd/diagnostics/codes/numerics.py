"""Codes RG5xx: numbers that go wrong."""

from __future__ import annotations

from .entry import Entry, Form

NUMERICS: tuple[Entry, ...] = (
    Entry(
        "RG501",
        "nan-in-backward",
        "a backward step produced nan",
        (
            Form(
                r"Function '(?P<name>[\w:]+)' returned nan values in its (?P<index>\d+)th output",
                "the backward of {name} gave nan for its input {index}",
                "Common sources: sqrt, norm or a power at 0, log of 0, 0 / 0, inf - inf, and "
                "torch.where over a branch that is not finite.",
                (
                    "mask the operand before the operation (torch.where on its input), not its "
                    "result: the branch that is not taken still gets 0 * inf",
                ),
            ),
        ),
    ),
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
    Entry(
        "RG503",
        "probability-range",
        "a loss on probabilities got values outside 0 to 1",
        (
            Form(
                r"all elements of (?P<what>input|target) should be between 0 and 1",
                "{what} must lie between 0 and 1",
                None,
                ("pass raw scores to binary_cross_entropy_with_logits, or apply sigmoid() first",),
            ),
        ),
    ),
)
