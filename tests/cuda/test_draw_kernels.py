"""The kernels that draw random numbers, run on the CPU, beside their definition in NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides import draws
from retrograd.random import philox
from retrograd.random.philox import Grid, Position
from tests.cuda import nvrtc
from tests.cuda.on_the_host import HostArray, HostFunction

SMALL = Grid(2, 512)  # four blocks: threads draw more than once
AT = Position(2**63 + 12345, 40, SMALL)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
REALS = [np.dtype(np.float32), np.dtype(np.float64), BFLOAT16]
WHOLE = [np.dtype(name) for name in ("int64", "uint8", "bool")]


class Arrays(HostArray):
    """What the functions of CuPy do for the draws."""

    itemsize = property(lambda self: self.held.itemsize)

    def __and__(self, mask):
        return self.of(self.held & mask)

    def __getitem__(self, index):
        return self.of(self.held[index.held])

    def reshape(self, *shape):
        return self.of(self.held.reshape(*shape))


class Functions:
    def ascontiguousarray(self, array, dtype=None):
        return Arrays.of(np.ascontiguousarray(array.held, dtype))

    def argsort(self, keys):
        return Arrays.of(keys.held.argsort(kind="stable"))


class Host:
    array = Arrays
    xp = Functions()


@pytest.fixture
def make(monkeypatch):
    monkeypatch.setattr(launch, "function_of", HostFunction)
    draws._source.cache_clear()
    monkeypatch.setattr(draws, "_OWN", launch.Source("philox"))
    yield draws.DeviceDraws(Host)
    draws._source.cache_clear()


def agree(make, name, *args, close=False):
    """A kernel's numbers are those of the definition, to a few roundings where `close`."""
    there = [Arrays.of(x) if isinstance(x, np.ndarray) else x for x in args]
    found = getattr(make, name)(AT, *there).held
    expected = getattr(philox, name)(AT, *args)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if close:
        epsilon = float(ml_dtypes.finfo(found.dtype).eps)
        least = 2.0**-22 if found.dtype.itemsize < 8 else 2.0**-50
        found, expected = found.astype(np.float64), expected.astype(np.float64)
        np.testing.assert_allclose(found, expected, rtol=4 * epsilon, atol=max(least, epsilon / 8))
    else:
        np.testing.assert_array_equal(found, expected)


SIZES = [1, 255, 1025, 5000]


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_reals(make, dtype):
    for count in SIZES:
        agree(make, "uniform", count, -2.0, 3.0, dtype)
    agree(make, "uniform", 1000, 1.0, 1.01, dtype)
    for name, numbers in [
        ("normal", (1.0, 2.0)),
        ("log_normal", (0.0, 0.5)),
        ("exponential", (2.5,)),
    ]:
        agree(make, name, 3000, *numbers, dtype, close=True)
    agree(make, "geometric", 3000, 0.3, dtype)


def test_cauchy(make):
    agree(make, "cauchy", 500, 1.0, 2.0, np.dtype(np.float64), close=True)
    agree(make, "units", 700, np.dtype(np.float32))
    agree(make, "units", 700, np.dtype(np.float64))


@pytest.mark.parametrize("dtype", REALS + WHOLE, ids=str)
def test_whole_numbers_and_choices(make, dtype):
    last = 1 if dtype == np.bool_ else 100
    agree(make, "integers", 3000, 0, last + 1, dtype)
    agree(make, "full_range", 3000, last, dtype)
    agree(make, "choices", 3000, 0.3, dtype)
    agree(make, "choices_of", np.linspace(0, 1, 999), dtype)
    if dtype.name == "int64":
        agree(make, "integers", 3000, -(2**63), 2**64, dtype)
        agree(make, "integers", 3000, -(2**40), 2**63 + 5, dtype)
        agree(make, "integers", 3000, -5, 2**28, dtype)


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("count", [8, 1024, 4104, 8200])
def test_dropout(make, width, count):
    agree(make, "kept", count, 0.7, width)


@pytest.mark.parametrize("bits", [6, 31, 32])
def test_orders(make, bits):
    keys = philox.integers(AT, 600, -(2**31), 2**32 - 1, np.dtype(np.int32))
    agree(make, "order", keys, bits)
    agree(make, "order", keys.astype(np.int64), bits)


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_places(make, kind):
    weights = np.array([[0, 1, 0, 3, 2, 0], [1, 0, 0, 0, 0, 0]], kind)
    sums = np.cumsum(weights / weights.sum(-1, keepdims=True), -1)
    agree(make, "places", sums, weights, 200)


@pytest.mark.skipif(nvrtc.library() is None, reason="nvidia-cuda-nvrtc is not installed")
@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_functions_of_every_type_compile(dtype, monkeypatch):
    texts = []
    monkeypatch.setattr(launch, "function_of", lambda text, name: texts.append(text))
    draws._source.cache_clear()
    patterns = [draws._WHOLE]
    if dtype != "bool":
        patterns.append(draws._OTHERS)
    if dtype.startswith("float"):
        patterns.append(draws._REALS)
    for pattern in patterns:
        assert draws._source(pattern, dtype).any_function is None
    draws._source.cache_clear()
    assert [nvrtc.problems(text) for text in texts] == [""] * len(patterns)
