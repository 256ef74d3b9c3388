"""Special functions against PyTorch: ordinary points in both dtypes, and every edge."""

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from retrograd.backend import CPU

special = CPU.xp
pytestmark = pytest.mark.torch

Array = np.ndarray[Any, Any]
F = torch.nn.functional

rng = np.random.default_rng(0)
REAL = np.concatenate([rng.uniform(-6, 6, 3000), rng.uniform(-30, 30, 1000)])
GAMMA = np.concatenate([rng.uniform(0, 3, 2000), rng.uniform(-15, 30, 2000)])
UNIT = np.concatenate([rng.uniform(0, 1, 3000), np.geomspace(1e-6, 0.5, 500)])
inf, nan = np.inf, np.nan
EDGES = np.array(
    [
        nan,
        inf,
        -inf,
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        -3.0,
        -0.5,
        1e-30,
        -1e-30,
        40.0,
        -40.0,
        1e4,
        -1e4,
        1e10,
        -1e10,
        1e30,
        -1e30,
        1.5,
        0.25,
        88.0,
        -88.0,
        -100.0,
    ]
)

# name: PyTorch's function, ours, points, errors allowed in units of the precision of float64 and
# of float32, and the part of them that is absolute (near zeros of the function)
T = torch.special
CASES: dict[str, tuple[Any, Any, Array, tuple[float, float], float]] = {
    "erf": (T.erf, special.erf, REAL, (5, 3), 0),
    "erfc": (T.erfc, special.erfc, REAL, (10, 3), 0),
    "erfcx": (T.erfcx, special.erfcx, REAL, (20, 10), 0),
    "erfinv": (T.erfinv, special.erfinv, 2 * UNIT - 1, (8, 3), 0),
    "ndtr": (T.ndtr, special.ndtr, REAL, (4, 4), 1),
    "ndtri": (T.ndtri, special.ndtri, UNIT, (10, 5), 2),
    "log_ndtr": (T.log_ndtr, special.log_ndtr, REAL, (12, 8), 0),
    "lgamma": (torch.lgamma, special.lgamma, GAMMA, (12, 4), 60),
    "digamma": (torch.digamma, special.digamma, GAMMA, (4, 4), 20),
    "polygamma(2)": (
        lambda x: T.polygamma(2, x),
        lambda x: special.polygamma(2, x),
        GAMMA,
        (40, 8),
        60,
    ),
    "polygamma(5)": (
        lambda x: T.polygamma(5, x),
        lambda x: special.polygamma(5, x),
        GAMMA,
        (40, 8),
        60,
    ),
    "i0": (T.i0, special.i0, REAL, (8, 10), 0),
    "i0e": (T.i0e, special.i0e, REAL, (8, 8), 0),
    "i1": (T.i1, special.i1, REAL, (16, 30), 0),
    "i1e": (T.i1e, special.i1e, REAL, (16, 16), 0),
    "sinc": (T.sinc, special.sinc, REAL, (4, 4), 1),
    "entr": (T.entr, special.entr, REAL, (4, 4), 1),
    "expit": (T.expit, special.expit, REAL, (4, 6), 0),
    "log_sigmoid": (F.logsigmoid, special.log_sigmoid, REAL, (4, 6), 0),
    "softplus": (F.softplus, special.softplus, REAL, (4, 6), 0),
    "softplus(2.5, 7)": (
        lambda x: F.softplus(x, 2.5, 7.0),
        lambda x: special.softplus(x, 2.5, 7.0),
        REAL,
        (4, 6),
        0,
    ),
    "logit": (torch.logit, special.logit, UNIT, (4, 6), 2),
    "logit(0.1)": (
        lambda x: torch.logit(x, 0.1),
        lambda x: special.logit(x, 0.1),
        REAL,
        (4, 6),
        2,
    ),
}
# PyTorch 2.13 is off by up to 1e-6 here: its trigamma series is short, and its Bessel functions
# leave out the leading coefficient of their denominators.
ROUGH: dict[str, tuple[Any, Any, Array]] = {
    "polygamma(1)": (
        lambda x: T.polygamma(1, x),
        lambda x: special.polygamma(1, x),
        GAMMA,
    ),
    "bessel_j0": (T.bessel_j0, special.bessel_j0, REAL),
    "bessel_j1": (T.bessel_j1, special.bessel_j1, REAL),
    "bessel_y0": (T.bessel_y0, special.bessel_y0, GAMMA),
    "bessel_y1": (T.bessel_y1, special.bessel_y1, GAMMA),
}
DTYPES = [np.float64, np.float32]


def tensor_result(function: Any, points: Array) -> Array:
    result: Array = function(torch.from_numpy(points)).numpy()
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CASES)
def test_points(name: str, dtype: type) -> None:
    theirs, ours, points, units, absolute = CASES[name]
    x = points.astype(dtype)
    epsilon = np.finfo(dtype).eps
    relative = units[DTYPES.index(dtype)] * epsilon
    np.testing.assert_allclose(
        ours(x), tensor_result(theirs, x), rtol=relative, atol=absolute * epsilon + 1e-44
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ROUGH)
def test_points_where_pytorch_is_rough(name: str, dtype: type) -> None:
    theirs, ours, points = ROUGH[name]
    x = points.astype(dtype)
    np.testing.assert_allclose(ours(x), tensor_result(theirs, x), rtol=1e-5, atol=3e-6)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", [*CASES, *ROUGH])
def test_edges(name: str, dtype: type) -> None:
    theirs, ours = (CASES | ROUGH)[name][:2]
    x = EDGES.astype(dtype)
    if name.startswith("polygamma"):
        x = x[~(x < -100)]  # PyTorch sums one term for every unit
    if name.startswith("bessel"):
        x = x[~(np.abs(x) > 1e3)]  # the phase is lost to rounding
    got, wanted = ours(x), tensor_result(theirs, x)
    np.testing.assert_allclose(got, wanted, rtol=3e-6, atol=3e-7)
    exact = (wanted == 0) | ~np.isfinite(wanted)
    np.testing.assert_array_equal(got[exact], wanted[exact])
    if name not in ("i0", "i0e"):  # PyTorch's float32 value at zero is one rounding below 1
        np.testing.assert_array_equal(np.signbit(got[wanted == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["zeta", "gammainc", "gammaincc", "xlogy", "xlog1py"])
def test_pair_edges(name: str, dtype: type) -> None:
    values = np.array([nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -2.5, 30.0], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    if name == "zeta":
        x, y = x[y != -inf], y[y != -inf]  # PyTorch's sum does not end there
    got = getattr(special, name)(x, y)
    wanted = getattr(T, name)(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-40)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_logaddexp(name: str, dtype: type) -> None:
    values = np.array([nan, inf, -inf, 0.0, 1.0, -1.0, 300.0], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    x = np.concatenate([x, rng.uniform(-9, 9, 1000).astype(dtype)])
    y = np.concatenate([y, rng.uniform(-9, 9, 1000).astype(dtype)])
    wanted = getattr(torch, name)(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    epsilon = np.finfo(dtype).eps
    np.testing.assert_allclose(
        getattr(special, name)(x, y), wanted, rtol=4 * epsilon, atol=2 * epsilon
    )


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma(name: str) -> None:
    a = np.concatenate([rng.uniform(0, 40, 2000), np.exp(rng.uniform(-5, 6, 2000))])
    x = np.concatenate([rng.uniform(0, 40, 2000), np.exp(rng.uniform(-5, 6, 2000))])
    wanted = getattr(T, name)(torch.from_numpy(a), torch.from_numpy(x)).numpy()
    np.testing.assert_allclose(getattr(special, name)(a, x), wanted, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("name", ["erf", "expit", "log_sigmoid", "softplus"])
def test_hot_functions_stay_within_a_few_units_in_the_last_place(name: str) -> None:
    theirs, ours = CASES[name][:2]
    x = np.concatenate([np.linspace(-20, 20, 200_001), np.geomspace(1e-30, 1, 2001)])
    x = x.astype(np.float32)
    got, wanted = ours(x), tensor_result(theirs, x)
    distance = np.abs(got.view(np.int32).astype(np.int64) - wanted.view(np.int32))
    assert distance.max() <= (3 if name == "erf" else 5)
    assert np.mean(distance <= 2) > 0.995
