"""Arithmetic to the last bit, against exact fractions and the C library."""

from __future__ import annotations

import doctest
import importlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retrograd.random.arithmetic import (
    CLibrary,
    cast,
    fma32,
    fma64,
    lgamma,
    near_float32_tie,
    to_int64,
)

numbers = st.floats(-1e6, 1e6)
parameters = st.floats(-1e300, 1e300)


def exact(value: float, factor: float, addend: float) -> Fraction:
    return Fraction(value) * Fraction(factor) + Fraction(addend)


@given(st.lists(numbers, min_size=1, max_size=80), parameters, parameters)
@example([0.1] * 50, 10.0, -1.0)
@example([0.1, 0.3] * 20, 1e300, 1e300)
@example([1e-3] * 40, 1e-300, 1e-300)
def test_fma64_rounds_once(values: list[float], factor: float, addend: float) -> None:
    results = fma64(np.array(values), factor, addend).tolist()
    if addend == 0:
        assert results == [value * factor + addend for value in values]
    else:
        assert results == [float(exact(value, factor, addend)) for value in values]


float32s = st.floats(-1e6, 1e6, width=32)


@given(st.lists(float32s, min_size=1, max_size=20), float32s, float32s)
def test_fma32_rounds_once(values: list[float], factor: float, addend: float) -> None:
    results = fma32(np.array(values, np.float32), factor, addend)
    for value, result in zip(values, results.tolist(), strict=True):
        true = exact(value, factor, addend)
        neighbours = [np.nextafter(np.float32(result), np.float32(s)) for s in (-np.inf, np.inf)]
        distance = abs(Fraction(result) - true)
        assert all(distance <= abs(Fraction(float(other)) - true) for other in neighbours)


@pytest.mark.parametrize("factor, addend", [(2.0, math.inf), (math.inf, 1.0), (1.0, math.nan)])
def test_infinite_parameters(factor: float, addend: float) -> None:
    values = [1.0, -2.0]
    expected = [value * factor + addend for value in values]
    np.testing.assert_array_equal(fma64(np.array(values), factor, addend), expected)
    np.testing.assert_array_equal(fma32(np.array(values, np.float32), factor, addend), expected)


@pytest.mark.parametrize("name", ["log", "log1p", "exp", "tan", "sin", "cos"])
def test_c_library(name: str) -> None:
    x = np.random.RandomState(0).random_sample(3000)
    expected = [getattr(math, name)(v) for v in x.tolist()]
    assert getattr(CLibrary, name)(x).tolist() == expected


def test_infinities_of_the_c_library() -> None:
    assert CLibrary.log(np.array([0.0, 1.0])).tolist() == [-math.inf, 0.0]
    assert CLibrary.exp(np.array([800.0, 0.0])).tolist() == [math.inf, 1.0]


def test_doubtful_values_are_recognised() -> None:
    tie = 1.0 + 2.0**-24  # half-way between two float32 numbers
    sure = np.array([1.0, 1.5, -3.0, 1.0 + 2.0**-25])
    doubtful = np.array([tie, np.nextafter(tie, 2), np.nextafter(tie, 0), -tie, 0.0, 1e-40])
    assert not near_float32_tie(sure).any()
    assert near_float32_tie(doubtful).all()
    assert near_float32_tie(np.array([0.01]), addend=5.0).all()


def test_lgamma_of_whole_numbers() -> None:
    for x in (1.0, 2.0, 3.0, 7.0, 8.0, 9.0, 100.0, 1e6, 1e17, 1e18, 1e300):
        assert lgamma(x) == pytest.approx(math.lgamma(x), rel=1e-14)
    # Recorded from the C library where Python's own function differs.
    assert [lgamma(x) for x in (6.0, 11.0, 52.0, 101.0, 100001.0)] == [
        4.787491742782046,
        15.104412573075518,
        152.40959258449737,
        363.7393755555635,
        1051299.2218991218,
    ]


def test_half_types_are_reached_through_float32() -> None:
    # The float64 number rounds up to float16 directly, but is a tie, broken downwards, in float32.
    value = np.array([1.0 + 2.0**-11 + 2.0**-40])
    assert cast(value, np.dtype(np.float16))[0] == 1.0


def test_whole_numbers_that_do_not_fit() -> None:
    assert [to_int64(v) for v in (-1.5, 2.0**62, 2.0**63, math.nan)] == [
        -1, 2**62, -(2**63), -(2**63),
    ]  # fmt: skip


MODULES = ("arguments", "arithmetic", "box_muller", "continuous", "discrete", "generator")
MODULES += ("integers", "layout", "multinomial", "normal", "permutation", "selection", "uniform")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_docstrings(name: str) -> None:
    module = importlib.import_module(f"retrograd.random.{name}")
    assert doctest.testmod(module).failed == 0
