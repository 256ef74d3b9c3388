"""Expressions about tensors as objects: how they are made, converted, stored, copied, drawn.

Each file in `expressions` is a group: a setup, a line of dashes, then one expression a line.
`torch` is PyTorch or retrograd. What PyTorch 2.13 does with them is stored in `recorded.json`,
which ``python -m tests.tensor.record`` writes.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).with_name("expressions")


def cases() -> list[tuple[str, str, str]]:
    """(group, setup, expression) of every case."""
    found: list[tuple[str, str, str]] = []
    for path in sorted(FOLDER.glob("*.txt")):
        setup, _, text = path.read_text(encoding="utf-8").partition("----\n")
        found += [(path.stem, setup, line) for line in text.splitlines()]
    return found
