"""Shapes, layouts, dtypes and warnings: what holds for every special function alike."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from retrograd.backend import CPU
from retrograd.backend.namespace import NEUTRAL
from retrograd.backend.neutral.pieces import CHUNK

special = CPU.xp
Array = np.ndarray[Any, Any]

PAIRS = {"xlogy", "xlog1py", "logaddexp", "logaddexp2", "zeta", "gammainc", "gammaincc"}
UNARY: dict[str, Callable[[Array], Array]] = {
    name: getattr(special, name)
    for name, home in NEUTRAL.items()
    if home.startswith("special_") and name not in PAIRS | {"polygamma"}
}
UNARY |= {
    "polygamma(0)": lambda x: special.polygamma(0, x),
    "polygamma(1)": lambda x: special.polygamma(1, x),
    "polygamma(4)": lambda x: special.polygamma(4, x),
    "logit(eps)": lambda x: special.logit(x, 1e-3),
    "softplus(beta)": lambda x: special.softplus(x, 3.0, 10.0),
}
DTYPES = [np.float32, np.float64]


def identical(first: Array, second: Array) -> bool:
    """The same shape, dtype and values, nan included."""
    return (
        first.shape == second.shape
        and first.dtype == second.dtype
        and np.array_equal(first, second, equal_nan=True)
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_empty_and_zero_dimensional(name: str, dtype: type) -> None:
    function = UNARY[name]
    for shape in [(0,), (3, 0, 2)]:
        result = function(np.empty(shape, dtype))
        assert type(result) is np.ndarray and result.shape == shape and result.dtype == dtype
    scalar = function(np.array(0.375, dtype))
    assert type(scalar) is np.ndarray and scalar.shape == () and scalar.dtype == dtype
    assert identical(scalar.reshape(1), function(np.array([0.375], dtype)))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_pairs_empty_zero_dimensional_and_broadcast(name: str, dtype: type) -> None:
    function = getattr(special, name)
    empty = function(np.empty((0, 2), dtype), np.empty((0, 2), dtype))
    assert empty.shape == (0, 2) and empty.dtype == dtype
    scalar = function(np.array(1.5, dtype), np.array(0.375, dtype))
    assert type(scalar) is np.ndarray and scalar.shape == () and scalar.dtype == dtype
    column = np.linspace(1.25, 4, 3, dtype=dtype)[:, None]
    row = np.linspace(0.25, 6, 5, dtype=dtype)
    spread = np.broadcast_arrays(column, row)
    wanted = function(*(np.ascontiguousarray(array) for array in spread))
    assert identical(function(column, row), wanted)


@pytest.mark.parametrize("name", UNARY)
def test_layouts(name: str) -> None:
    function = UNARY[name]
    base = np.linspace(-0.875, 0.96875, 24).reshape(2, 3, 4)
    kept = base.copy()
    views = [base.T, base.transpose(1, 2, 0), base[::-1, ::2, 1:], base[:, :1], base[:, ::-1]]
    views += [np.broadcast_to(base[:, :1], (5, 2, 3, 4))]
    for view in views:
        result = function(view)
        flat = function(np.ascontiguousarray(view))
        # Vector loops and their remainders may differ in the last place.
        np.testing.assert_allclose(result, flat, rtol=1e-13)
    # A dense array keeps the order of its axes in memory, as NumPy's own functions do.
    assert function(base.T).strides == base.T.strides
    permuted = base.transpose(1, 2, 0)
    assert function(permuted).strides == permuted.strides
    assert identical(base, kept), "the argument was written to"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["erf", "expit", "log_sigmoid", "softplus", "erfc", "lgamma"])
def test_pieces_fit_together(name: str, dtype: type) -> None:
    x = np.linspace(-6, 6, 2 * CHUNK + 77).astype(dtype)
    whole = UNARY[name](x)
    middle = slice(CHUNK - 40, CHUNK + 40)
    tolerance = 4 * np.finfo(dtype).eps
    np.testing.assert_allclose(whole[middle], UNARY[name](x[middle]), rtol=tolerance)
    np.testing.assert_allclose(whole[-50:], UNARY[name](x[-50:]), rtol=tolerance)


def hard_points(dtype: type) -> Array:
    limits = np.finfo(dtype)
    sizes = [0.0, limits.smallest_subnormal, limits.tiny, 1e-8, 0.5, 1.0, 1.5, 2.0, 5.0, 8.0, 10.0]
    sizes += [13.0, 20.0, 26.7, 88.5, 89.0, 104.0, 171.5, 709.5, 746.0, 1e5, 1e8, 1e19]
    sizes += [limits.max / 2, limits.max, np.inf, np.nan]
    points = np.array(sizes, dtype)
    return np.concatenate([points, -points])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_no_warning_escapes(name: str, dtype: type) -> None:
    points = hard_points(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = UNARY[name](points)
        for index, point in enumerate(points):
            alone = UNARY[name](np.array([point]))[0]
            np.testing.assert_allclose(alone, together[index], rtol=4 * np.finfo(dtype).eps)
    # The caller's own settings are back in force.
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        np.divide(np.ones(1), np.zeros(1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(PAIRS))
def test_no_warning_escapes_from_pairs(name: str, dtype: type) -> None:
    points = hard_points(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = getattr(special, name)(points[:, None], points)
    assert result.shape == (points.size, points.size) and result.dtype == dtype


any_float32 = arrays.arrays(
    np.float32, st.integers(1, 40), elements=st.floats(-80, 80, width=32, allow_subnormal=False)
)


@settings(max_examples=40)
@given(any_float32)
def test_symmetries(x: Array) -> None:
    assert identical(special.erf(-x), -special.erf(x))
    np.testing.assert_allclose(special.erfc(x) + special.erfc(-x), 2, rtol=1e-6)
    np.testing.assert_allclose(special.expit(x) + special.expit(-x), 1, rtol=1e-6)
    softplus = special.softplus(-x, threshold=1e3)
    np.testing.assert_allclose(special.log_sigmoid(x), -softplus, rtol=2e-6, atol=1e-30)
    for even in (special.i0e, special.bessel_j0, special.sinc):
        assert identical(even(-x), even(x))
    for odd in (special.i1e, special.bessel_j1):
        assert np.array_equal(odd(-x), -odd(x))


in_unit_interval = st.floats(0.0009765625, 0.9990234375)


@settings(max_examples=40)
@given(arrays.arrays(np.float64, st.integers(1, 40), elements=in_unit_interval))
def test_inverses(p: Array) -> None:
    np.testing.assert_allclose(special.expit(special.logit(p)), p, rtol=1e-13)
    np.testing.assert_allclose(special.ndtr(special.ndtri(p)), p, rtol=1e-12)
    np.testing.assert_allclose(special.erf(special.erfinv(p)), p, rtol=1e-14)


positive = st.floats(2.0**-20, 200)


@settings(max_examples=40)
@given(arrays.arrays(np.float64, st.integers(1, 40), elements=positive))
def test_recurrences(x: Array) -> None:
    step = special.lgamma(x + 1) - special.lgamma(x)
    np.testing.assert_allclose(step, np.log(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(special.digamma(x + 1) - special.digamma(x), 1 / x, rtol=1e-8)
    down = special.polygamma(1, x) - special.polygamma(1, x + 1)
    np.testing.assert_allclose(down, 1 / x**2, rtol=1e-8)
    three = np.full_like(x, 3.0)
    lower, upper = special.gammainc(three, x), special.gammaincc(three, x)
    np.testing.assert_allclose(lower + upper, 1, rtol=1e-14)
    np.testing.assert_allclose(upper, np.exp(-x) * (1 + x + x * x / 2), rtol=1e-11)
