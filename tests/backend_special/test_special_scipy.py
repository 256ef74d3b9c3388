"""Special functions against SciPy, in float64 and (SciPy's float64 value, rounded) in float32."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

scipy_special = pytest.importorskip("scipy.special")

from retrograd.backend import CPU

special = CPU.xp
Array = np.ndarray[Any, Any]

rng = np.random.default_rng(0)
REAL = np.concatenate([rng.uniform(-25, 25, 3000), rng.standard_normal(3000)])
POSITIVE = np.concatenate([rng.uniform(0, 30, 3000), np.geomspace(1e-8, 1e6, 500)])
GAMMA = np.concatenate([rng.uniform(-15, 15, 3000), np.geomspace(1e-8, 1e15, 500)])
UNIT = np.concatenate([rng.uniform(0, 1, 3000), np.geomspace(1e-15, 0.5, 500)])

# name: points, allowed relative and absolute error in units of the float64 precision
CASES: dict[str, tuple[Array, float, float]] = {
    "erf": (REAL, 6, 0),
    "erfc": (REAL[REAL < 25], 500, 0),  # SciPy's own error
    "erfcx": (REAL, 20, 0),
    "erfinv": (2 * UNIT - 1, 12, 0),
    "ndtri": (UNIT, 12, 1),
    "log_ndtr": (REAL, 200, 0),  # x / sqrt(2) is rounded, as in PyTorch
    "gammaln": (GAMMA, 12, 40),
    "digamma": (GAMMA, 12, 100),
    "i0": (REAL, 8, 0),
    "i0e": (REAL, 4, 0),
    "i1": (REAL, 8, 0),
    "i1e": (REAL, 4, 0),
    "entr": (POSITIVE, 4, 4),
    "expit": (REAL, 4, 0),
}


def compare(got: Array, wanted: Array, relative: float, absolute: float) -> None:
    epsilon = np.finfo(np.float64).eps
    np.testing.assert_allclose(got, wanted, rtol=relative * epsilon, atol=absolute * epsilon)


@pytest.mark.parametrize("name", CASES)
def test_float64(name: str) -> None:
    points, relative, absolute = CASES[name]
    compare(
        getattr(special, name)(points), getattr(scipy_special, name)(points), relative, absolute
    )


@pytest.mark.parametrize("name", CASES)
def test_float32(name: str) -> None:
    points = CASES[name][0].astype(np.float32)
    wide = points.astype(np.float64)
    wanted = getattr(scipy_special, name)(wide)
    keep = (np.abs(wanted) < 3e38) & (np.abs(wanted) > 1e-37)
    if name == "digamma":  # like PyTorch's: float32 arithmetic on the way up to ten
        tolerances = {"rtol": 2e-6, "atol": 4e-6}
    elif name in ("log_ndtr", "erfcx"):  # like PyTorch's: the square is rounded to float32
        tolerances = {"rtol": 2e-5}
    else:
        tolerances = {"rtol": 4.8e-7}
    np.testing.assert_allclose(getattr(special, name)(points)[keep], wanted[keep], **tolerances)


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_bessel(name: str) -> None:
    points = POSITIVE if name[0] == "y" else GAMMA
    got = getattr(special, "bessel_" + name)(points)
    compare(got, getattr(scipy_special, name)(points), 10, 4)


@pytest.mark.parametrize("order", [1, 2, 3, 7, 20])
def test_polygamma(order: int) -> None:
    points = np.concatenate([POSITIVE[POSITIVE > 0.5], [0.125, 0.25]])
    wanted = scipy_special.polygamma(order, points)
    compare(special.polygamma(order, points), wanted, 40, 0)


def test_zeta() -> None:
    x = rng.uniform(1.001, 40, 2000)
    q = rng.uniform(0.01, 50, 2000)
    compare(special.zeta(x, q), scipy_special.zeta(x, q), 40, 0)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_incomplete_gamma(name: str) -> None:
    a = np.concatenate([rng.uniform(0, 40, 3000), np.exp(rng.uniform(-7, 9, 3000))])
    x = np.concatenate([rng.uniform(0, 40, 3000), a[3000:] * np.exp(rng.uniform(-1, 1, 3000))])
    wanted = getattr(scipy_special, name)(a, x)
    got = getattr(special, name)(a, x)
    keep = wanted > 1e-30
    np.testing.assert_allclose(got[keep], wanted[keep], rtol=5e-11)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-40)


PAIRS: dict[str, Callable[..., Any]] = {
    "xlogy": scipy_special.xlogy,
    "xlog1py": scipy_special.xlog1py,
    "logaddexp": np.logaddexp,
    "logaddexp2": np.logaddexp2,
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str) -> None:
    x, y = rng.uniform(-4, 4, 2000), rng.uniform(0.01, 9, 2000)
    compare(getattr(special, name)(x, y), PAIRS[name](x, y), 4, 4)
