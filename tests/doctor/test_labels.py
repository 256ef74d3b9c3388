"""Every labelled case behaves on PyTorch 2.13 as its label says (see `check_labels`)."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from tests.doctor.check_labels import label_problems, load_cases, run_problems
from tests.doctor.observe_case import Observer

LABELLED = load_cases()
NAMES = [case["id"] for case in LABELLED]


@pytest.fixture(scope="module")
def observer() -> Iterator[Observer]:
    observer = Observer()
    yield observer
    observer.close()


def test_names_are_unique():
    assert [name for name, times in Counter(NAMES).items() if times > 1] == []
    assert len(NAMES) > 40


@pytest.mark.parametrize("case", LABELLED, ids=NAMES)
def test_label_is_well_formed(case):
    assert label_problems(case) == []


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="forks a process for each script")
@pytest.mark.parametrize("case", LABELLED, ids=NAMES)
def test_label_is_right(case, observer):
    pytest.importorskip("torch")
    assert run_problems(case, observer) == []
