"""The names that programs use most are all there: as functions, methods or operators."""

from __future__ import annotations

from pathlib import Path

import pytest

import retrograd

HERE = Path(__file__).parent
CORE = (HERE / "core_names.txt").read_text().split()
SECOND = (HERE / "second_names.txt").read_text().split()
# Python 2's division has no reflected operator of its own any more
RENAMED = {"__rdiv__": "__rtruediv__"}


def find(library, name):
    """Where a name lives in a library: a function of it, of a namespace, or a Tensor member."""
    name = RENAMED.get(name, name)
    if "." in name:
        place = library
        for part in name.split("."):
            place = getattr(place, part)
        return place
    found = getattr(library.Tensor, name, None)
    return found if found is not None else getattr(library, name)


@pytest.mark.parametrize("name", [*CORE, *SECOND])
def test_name_is_there(name):
    assert find(retrograd, name) is not None


@pytest.mark.torch
@pytest.mark.parametrize("name", [*CORE, *SECOND])
def test_found_in_the_same_places(name):
    """What PyTorch has as a function, as a method and in place, is there in each form."""
    torch = pytest.importorskip("torch")
    plain = RENAMED.get(name, name)
    last = plain.split(".")[-1]
    missing = []
    if "." not in plain:
        for place in ("", "Tensor"):
            theirs = getattr(torch, place) if place else torch
            ours = getattr(retrograd, place) if place else retrograd
            for form in (last, f"{last}_"):
                if hasattr(theirs, form) and not hasattr(ours, form):
                    missing.append(f"{place or 'torch'}.{form}")
    assert missing == []


def test_missing_name_says_its_name():
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = retrograd.frobnicate
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = retrograd.nn.functional.frobnicate
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = retrograd.linalg.frobnicate
    with pytest.raises(AttributeError, match="frobnicate"):
        _ = retrograd.tensor(1.0).frobnicate
    with pytest.raises(TypeError, match="frobnicate"):
        retrograd.add(retrograd.tensor(1.0), 2, frobnicate=True)
