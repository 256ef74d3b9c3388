"""Programs with tensors without elements give what they give on PyTorch, its errors included.

`recorded.json` has what PyTorch gave; ``python -m tests.meta.test_programs`` writes it anew.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import retrograd
from tests.meta.programs import EXPRESSIONS, results

FILE = Path(__file__).parent / "recorded.json"
RECORDED = {} if __name__ == "__main__" else json.loads(FILE.read_text("utf-8"))

WRITTEN = [line.strip() for line in EXPRESSIONS.splitlines() if line.strip()]

ours = cache(lambda: results(retrograd))


@pytest.mark.parametrize("expression", WRITTEN)
def test_as_recorded(expression):
    assert ours()[expression] == RECORDED[expression]


@pytest.mark.torch
def test_recorded_is_what_pytorch_gives():
    torch = pytest.importorskip("torch")
    assert results(torch) == RECORDED


if __name__ == "__main__":
    import torch

    FILE.write_text(json.dumps(results(torch), indent=1) + "\n", "utf-8")
