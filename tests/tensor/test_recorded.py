"""Every expression does what was recorded from PyTorch: values, texts, warnings, errors."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

import retrograd
from tests.tensor.cases import cases
from tests.tensor.outcomes import outcome
from tests.tensor.record import PLACE

RECORDED = json.loads(PLACE.read_text(encoding="utf-8"))


@pytest.fixture(autouse=True)
def every_warning() -> Iterator[None]:
    retrograd.set_warn_always(True)
    yield
    retrograd.set_warn_always(False)


@pytest.mark.parametrize(
    ("group", "setup", "expression"), [pytest.param(*c, id=f"{c[0]}-{c[2]}") for c in cases()]
)
def test_as_recorded(group: str, setup: str, expression: str) -> None:
    found = json.loads(json.dumps(outcome(retrograd, setup, expression)))
    assert found == RECORDED[group][expression]
