"""The list of signatures is PyTorch's, and our functions take what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

import retrograd
from retrograd.ops.calling.signature_table import _CHECKS, entry

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LIST = Path(retrograd.__file__).parent / "compat" / "signatures.txt"


def _written() -> list[str]:
    return [x for x in LIST.read_text(encoding="utf-8").splitlines() if not x.startswith("#")]


def test_the_list_is_what_pytorch_has():
    from tests.compat.collect_signatures import lines

    assert list(lines()) == _written()


def test_every_type_is_checked():
    places = {line.partition(" ")[0] for line in _written()}
    kinds = {
        p.kind
        for place in places
        if (found := entry(place)) is not None
        for signature in found.overloads
        for p in signature.parameters
    }
    unchecked = {"Storage", "Stream"}
    assert kinds - set(_CHECKS) == unchecked, "others are taken as they come"
