"""Counts of references to bases are believed only where a library's arrays were seen to tell."""

from __future__ import annotations

import sys
from typing import ClassVar

import numpy as np
import pytest

from retrograd.backend import bases
from retrograd.backend.cuda import cuda_backend
from retrograd.engine import ownership
from tests.cuda.fake import posing


class Owned:
    """An array of a library whose views hold the array that owns their memory."""

    def __init__(self, base=None):
        self._base = base

    @property
    def base(self):
        return self._base

    def view(self):
        return type(self)(self if self._base is None else self._base)

    def __getitem__(self, place):
        return self.view()

    def reshape(self, *shape):
        return self.view()

    @property
    def T(self):
        return self.view()


class NewEachTime(Owned):
    """Each look at the base makes an object."""

    @property
    def base(self):
        return None if self._base is None else NewEachTime()


class HeldTwice(Owned):
    def __init__(self, base=None):
        super().__init__(base)
        self.memory = base


class HeldByNobody(Owned):
    """The base is looked up in a table that holds it."""

    table: ClassVar[list[Owned]] = []

    def view(self):
        made = super().view()
        self.table.append(made._base)
        return made


class Chained(Owned):
    """A view of a view holds that view."""

    def view(self):
        return type(self)(self)


class NoTranspose(Owned):
    T = None


class CopiesRows(Owned):
    def reshape(self, *shape):
        return type(self)()


class Raises(Owned):
    @property
    def base(self):
        raise AttributeError("an array of this library has no base")


needs_counts = pytest.mark.skipif(
    not bases.ALONE_AS_BASE or not ownership.ALONE, reason="counts of references tell nothing here"
)


@needs_counts
def test_arrays_that_keep_their_base_are_believed():
    assert bases.tell_owners(lambda: np.empty((4, 3))) and bases.tell_owners(Owned)


@pytest.mark.parametrize(
    "kind", [NewEachTime, HeldTwice, HeldByNobody, Chained, NoTranspose, CopiesRows, Raises, object]
)
def test_others_are_not(kind):
    assert bases.tell_owners(kind) is False


def test_an_array_that_cannot_be_made():
    def make():
        raise MemoryError

    assert bases.tell_owners(make) is False


def test_without_counts_nothing_is_believed(monkeypatch):
    monkeypatch.setattr(bases, "ALONE_AS_BASE", 0)
    assert bases.tell_owners(lambda: np.empty((4, 3))) is False
    monkeypatch.undo()
    monkeypatch.setattr(bases, "getrefcount", lambda value: 7 + 0 * sys.getrefcount(value))
    assert bases._of_numpy() == 0 and bases.tell_owners(Owned) is False


@needs_counts
def test_a_device_is_tried_when_it_is_asked():
    with posing():
        backend = cuda_backend()
        assert "counts_bases" not in vars(backend)  # nothing was put there yet
        assert backend.counts_bases is True
        made = backend.cupy.zeros((2, 3), "float32").T
        assert ownership.shows_memory_alone(made)
        other = made[:1]
        assert not ownership.shows_memory_alone(made)
        del other
        backend.__dict__["counts_bases"] = False
        assert not ownership.shows_memory_alone(made)
