"""Sobol sequences in both libraries: the same points, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LIBRARIES = (retrograd, torch)


def engines(*args, **options):
    return [library.quasirandom.SobolEngine(*args, **options) for library in LIBRARIES]


@pytest.mark.parametrize("dimension", [1, 2, 7, 100, 256])
@pytest.mark.parametrize("options", [{}, {"scramble": True, "seed": 5}], ids=str)
def test_points(dimension, options):
    ours, theirs = engines(dimension, **options)
    assert repr(ours) == repr(theirs)
    np.testing.assert_array_equal(ours.sobolstate.numpy(), theirs.sobolstate.numpy())
    for count in (1, 3, 8):
        np.testing.assert_array_equal(ours.draw(count).numpy(), theirs.draw(count).numpy())
    for engine in (ours, theirs):
        engine.fast_forward(5)
    kinds = [library.float64 for library in LIBRARIES]
    points = [e.draw(4, dtype=kind).numpy() for e, kind in zip((ours, theirs), kinds, strict=True)]
    np.testing.assert_array_equal(*points)
    assert ours.num_generated == theirs.num_generated
    for engine in (ours, theirs):
        engine.reset()
    np.testing.assert_array_equal(ours.draw_base2(3).numpy(), theirs.draw_base2(3).numpy())


def test_fast_forward_from_the_start():
    ours, theirs = (engine.fast_forward(9) for engine in engines(3))
    np.testing.assert_array_equal(ours.draw(2).numpy(), theirs.draw(2).numpy())


def test_scrambling_takes_the_default_generator():
    for library in LIBRARIES:
        library.manual_seed(4)
    ours, theirs = engines(4, scramble=True)
    np.testing.assert_array_equal(ours.draw(5).numpy(), theirs.draw(5).numpy())


@pytest.mark.parametrize("dimension", [0, 21202])
def test_range_of_dimensions(dimension):
    texts = []
    for library in LIBRARIES:
        with pytest.raises(ValueError) as caught:
            library.quasirandom.SobolEngine(dimension)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_unbalanced_draw():
    texts = []
    for engine in engines(2):
        engine.draw(3)
        with pytest.raises(ValueError) as caught:
            engine.draw_base2(2)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_more_dimensions_than_known():
    with pytest.raises(NotImplementedError, match="SobolEngine in 1000 dimensions"):
        retrograd.quasirandom.SobolEngine(1000)
