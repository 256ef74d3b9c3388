"""Reductions and softmax: the CUDA kernels run on the CPU, beside NumPy."""

from __future__ import annotations

import shutil
import types

import numpy as np
import pytest

from retrograd.backend import CPU
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides import reductions, softmax
from retrograd.backend.device import KERNELS
from tests.cuda.on_the_host import HostArray, HostFunction

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
random = np.random.default_rng(0)


class Host:
    """What overrides ask of a backend."""

    array = HostArray

    def __init__(self):
        self.overrides = {}
        self.halves, self.half_rules = set(), set()
        self.xp = types.SimpleNamespace(
            ascontiguousarray=lambda a: HostArray.of(np.ascontiguousarray(a.held)),
            sum=None, max=None, min=None, mean=None,
        )  # fmt: skip

    def override(self, name):
        return lambda kernel: self.overrides.setdefault(name, kernel)


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(launch, "function_of", HostFunction)
    reductions._source.cache_clear()
    softmax.source.cache_clear()
    yield
    reductions._source.cache_clear()
    softmax.source.cache_clear()


@pytest.mark.parametrize(
    "shape, axes, permuted",
    [
        [(7,), None, None],
        [(5, 9), 0, None],
        [(5, 9), 1, None],
        [(5, 9), (1, 0), None],
        [(3, 1500), 1, None],
        [(70, 40), 0, None],
        [(3, 4, 5, 6), (0, 2), None],
        [(3, 4, 5, 6), (0, 2, 3), None],
        [(3, 4, 5, 6), (1, 3), (2, 0, 3, 1)],
        [(6, 8), 0, (1, 0)],
        [(9000,), 0, None],
        [(300, 3), 0, None],
        [(), None, None],
    ],
)
def test_sums(shape, axes, permuted):
    x = random.standard_normal(shape).astype("float32")
    x = x if permuted is None else x.transpose(permuted)
    for keepdims in (False, True):
        found = reductions.Reduction(Host, "Add")(HostArray.of(x), axes, keepdims).held
        wanted = x.astype("float64").sum(axis=axes, keepdims=keepdims)
        assert (found.shape, found.dtype) == (wanted.shape, x.dtype)
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


def test_other_reductions():
    x = random.standard_normal((20, 33))
    for do, name in (("Largest", "max"), ("Smallest", "min")):
        found = reductions.Reduction(Host, do)(HostArray.of(x), 1).held
        np.testing.assert_array_equal(found, getattr(x, name)(axis=1))
    x[3, 4] = np.nan
    found = reductions.Reduction(Host, "Largest")(HostArray.of(x), 0).held
    np.testing.assert_array_equal(found, x.max(axis=0))
    found = reductions.Reduction(Host, "Add", mean=True)(HostArray.of(x[:, 5:]), 0).held
    np.testing.assert_allclose(found, x[:, 5:].mean(axis=0))
    whole = random.integers(-9, 9, (20, 30)).astype("int8")
    found = reductions.Reduction(Host, "Add")(HostArray.of(whole), 0).held
    np.testing.assert_array_equal(found, whole.sum(axis=0))
    assert found.dtype == np.int64
    half = random.standard_normal((40, 30)).astype("float16")
    found = reductions.Reduction(Host, "Add")(HostArray.of(half), 0).held
    np.testing.assert_array_equal(found, half.sum(axis=0, dtype="float32").astype("float16"))


def test_what_is_left_to_the_neutral_kernel():
    reduce = reductions.Reduction(Host, "Add")
    x = HostArray.of(np.zeros((2, 3), "float32"))
    assert reduce(x, 2) is None  # it raises
    assert reduce(x, (0, 0)) is None
    assert reduce(HostArray.of(np.zeros((0, 3))), 0) is None
    assert reduce(HostArray.of(np.zeros(3, "complex64"))) is None


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize(
    "shape, dim", [[(5, 7), 1], [(5, 100), -1], [(3, 1100), 1], [(4, 5, 6), 1], [(6,), 0]]
)
@pytest.mark.parametrize("kind", ["float32", "float64", "float16"])
def test_softmax(name, shape, dim, kind):
    host = Host()
    softmax.install(host)
    x = random.standard_normal(shape)
    x.flat[2] = -np.inf
    x = x.astype(kind)
    wide = x.astype("float64")
    with np.errstate(all="ignore"):
        wanted = KERNELS[name][0](CPU.xp, wide, dim)
    found = host.overrides[name](None, HostArray.of(x), dim).held
    assert found.dtype == x.dtype
    tolerance = {"float32": 1e-5, "float64": 1e-12, "float16": 1e-2}[kind]
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)
    g = random.standard_normal(shape).astype(kind)
    gradient = f"_{name}_gradient"
    with np.errstate(all="ignore"):
        wanted = KERNELS[gradient][0](CPU.xp, g.astype("float64"), found.astype("float64"), dim)
    slopes = host.overrides[gradient](None, HostArray.of(g), HostArray.of(found), dim).held
    np.testing.assert_allclose(slopes, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("columns", [7, 1100])
def test_softmax_of_unusual_rows(columns):
    host = Host()
    softmax.install(host)
    x = np.zeros((4, columns), "float32")
    x[0] = -np.inf
    x[1, 3] = np.inf
    x[2, 2] = np.nan
    for name in ("softmax", "log_softmax"):
        found = host.overrides[name](None, HostArray.of(x), 1).held
        assert np.isnan(found[:3]).all() and np.isfinite(found[3]).all()
