"""Norms, losses by class, embeddings: the kernels run on the CPU, beside the neutral ones."""

from __future__ import annotations

import shutil
import types

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend import CPU
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides import classes, norms, reductions
from retrograd.backend.device import KERNELS
from retrograd.ops.neural.normalization import Layout
from tests.cuda.on_the_host import HostArray, HostFunction

pytestmark = [
    pytest.mark.slow,  # a C++ compiler runs for each kernel
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no C++ compiler"),
]
random = np.random.default_rng(0)


class Host:
    array = HostArray
    halves, half_rules = set(), set()
    xp = types.SimpleNamespace(
        ascontiguousarray=lambda a: HostArray.of(np.ascontiguousarray(a.held)),
        zeros=lambda shape, kind: HostArray.of(np.zeros(shape, kind)),
    )


@pytest.fixture(autouse=True)
def on_the_host(monkeypatch):
    monkeypatch.setattr(launch, "function_of", HostFunction)
    caches = norms.source, reductions._source, classes._source
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def of(*shape, kind="float32"):
    return random.standard_normal(shape).astype(kind)


def there(value):
    return HostArray.of(value) if isinstance(value, np.ndarray) else value


def agree(found, wanted, kind):
    # of half precision a rounding: what is computed inside differs in the last bits
    tolerances = {"float32": 2e-5, "float64": 1e-11, "float16": 1e-3, "bfloat16": 8e-3}
    tolerance = tolerances[np.dtype(kind).name]
    for one, other in zip(found, wanted, strict=True):
        assert (one is None) is (other is None)
        if one is not None:
            assert (one.held.shape, one.held.dtype) == (other.shape, other.dtype)
            values = [a.astype("float64") for a in (one.held, other)]
            np.testing.assert_allclose(*values, tolerance, tolerance)


LAYOUTS = {
    "layer": ((7, 33), Layout((1, 7, 33), (7, 33), (33,)), 33),
    "long layer": ((2, 2, 700), Layout((1, 4, 700), (4, 700), (700,)), 700),
    "many rows": ((130, 5), Layout((1, 130, 5), (130, 5), (5,)), 5),
    "batch": ((4, 3, 5, 2), Layout((4, 3, 10), (4, 3, 10), (3, 1)), 3),
    "plain batch": ((20, 3), Layout((20, 3, 1), (20, 3, 1), (3, 1)), 3),
    "one image": ((1, 3, 4), Layout((1, 3, 4), (1, 3, 4), (3, 1)), 3),
}


@pytest.mark.parametrize("kind", ["float16", ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", LAYOUTS)
def test_norms_of_half_precision(name, kind):
    """Computed in float32 from what is there, and rounded once."""
    shape, layout, size = LAYOUTS[name]
    x, g = (of(*shape) + 3).astype(kind), of(*shape).astype(kind)
    for scale in (kind, "float32", None):
        weight = bias = None if scale is None else of(size).astype(scale)
        own = norms.Norms(Host)
        found = own.normalized(*map(there, (x, weight, bias)), layout, 1e-5)
        wide = [None if a is None else a.astype("float32") for a in (x, weight, bias, g)]
        if "batch" in name or "image" in name:
            arguments = (*wide[:3], None, None, True, layout, 1e-5)
            wanted = KERNELS["_batch_norm"][0](CPU.xp, *arguments)
        else:
            wanted = KERNELS["_layer_norm"][0](CPU.xp, *wide[:3], layout, 1e-5)
        agree(found[:1], [wanted[0].astype(kind)], kind)
        agree(found[1 : len(wanted)], wanted[1:], "float32")
        needs = (True, weight is not None, weight is not None)
        rest = (*wanted[1:3], layout, "_layer_norm_gradient")
        arguments = (wide[3], needs, wide[0], wide[1], (size,), *rest)
        wanted = KERNELS["_norm_gradients"][0](CPU.xp, *arguments)
        given = (g, needs, x, weight, (size,), *rest)
        found = own.gradients(*map(there, given))
        agree(found[:1], [wanted[0].astype(kind)], kind)
        agree(found[1:], wanted[1:], "float32")


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_norms(name, kind, affine):
    shape, layout, size = LAYOUTS[name]
    x, g = of(*shape, kind=kind) + 3, of(*shape, kind=kind)
    weight, bias = (of(size, kind=kind), of(size, kind=kind)) if affine else (None, None)
    own = norms.Norms(Host)
    found = own.normalized(*map(there, (x, weight, bias)), layout, 1e-5)
    if "batch" in name or "image" in name:
        arguments = (x, weight, bias, None, None, True, layout, 1e-5)
        wanted = KERNELS["_batch_norm"][0](CPU.xp, *arguments)
    else:
        wanted = KERNELS["_layer_norm"][0](CPU.xp, x, weight, bias, layout, 1e-5)
        found = found[:3]
    agree(found, wanted, kind)
    mean, inverse = wanted[1:3]
    needs = (True, affine, affine)
    arguments = (g, needs, x, weight, (size,), mean, inverse, layout, "_layer_norm_gradient")
    wanted = KERNELS["_norm_gradients"][0](CPU.xp, *arguments)
    agree(own.gradients(*map(there, arguments)), wanted, kind)


def test_groups_of_channels():
    x, weight, bias = of(3, 4, 5), of(4), of(4)
    layout = Layout((1, 6, 10), (3, 4, 5), (4, 1))
    found = norms.Norms(Host).normalized(*map(there, (x, weight, bias)), layout, 1e-5)
    agree(found[:3], KERNELS["_group_norm"][0](CPU.xp, x, weight, bias, layout, 1e-5), "float32")


class Noted:
    """Where kernels write mistakes."""

    def __init__(self):
        self.held = np.zeros(2, np.int64)
        self.address = self.held.ctypes.data


def made():
    return classes.Classes(Host, Noted())


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shape", [(6, 4), (4,), (2, 4, 3, 2)])
def test_losses_by_class(shape, weighted, reduction):
    x, weight = of(*shape), np.abs(of(4)) if weighted else None
    targets = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    target = random.integers(0, 4, targets)
    name = "_nll_loss2d" if len(shape) > 2 else "_nll_loss"
    for ignored in (-100, 2):
        found = made().loss(*map(there, (x, target, weight)), reduction, ignored)
        wanted = KERNELS[name][0](CPU.xp, x, target, weight, reduction, ignored)
        wanted = np.asarray(wanted)
        np.testing.assert_allclose(found.held, wanted, 1e-5)
        g = np.asarray(of(*wanted.shape), "float32")
        arguments = (x, target, weight, reduction, ignored)
        slopes = made().slopes(*map(there, (g, *arguments)))
        wanted = KERNELS[f"{name}_gradient"][0](CPU.xp, g, *arguments)
        np.testing.assert_allclose(slopes.held, wanted, 1e-5, 1e-6)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("kind", ["float16", ml_dtypes.bfloat16])
def test_losses_of_half_precision(kind, reduction):
    x, weight, target = of(6, 4).astype(kind), np.abs(of(4)).astype(kind), np.arange(6) % 4
    found = made().loss(*map(there, (x, target, weight)), reduction, -100)
    wide = (x.astype("float32"), target, weight.astype("float32"), reduction, -100)
    wanted = np.asarray(KERNELS["_nll_loss"][0](CPU.xp, *wide))
    agree([found], [wanted.astype(kind)], kind)
    g = np.asarray(of(*wanted.shape)).astype(kind)
    slopes = made().slopes(*map(there, (g, x, target, weight)), reduction, -100)
    wanted = KERNELS["_nll_loss_gradient"][0](CPU.xp, g.astype("float32"), *wide)
    agree([slopes], [wanted.astype(kind)], kind)


@pytest.mark.parametrize("kind", ["float16", ml_dtypes.bfloat16])
def test_embeddings_of_half_precision(kind):
    table, index = of(3, 5).astype(kind), random.integers(0, 3, (40, 4))
    own = made()
    np.testing.assert_array_equal(own.rows(there(table), there(index)).held, table[index])
    g = of(40, 4, 5).astype(kind)
    wide = KERNELS["_embedding_gradient"][0](CPU.xp, g.astype("float32"), index, 3, 2, False)
    found = own.added(there(g), there(index), 3, 2, False)
    agree([found], [wide.astype(kind)], kind)


def test_a_class_outside_is_noted():
    own = made()
    target = np.array([1, 9, 0])
    found = own.loss(there(of(3, 4)), there(target), None, 1, -100)
    assert np.isnan(found.held) and own.faults.held.tolist() == [1, 9]


def test_embeddings():
    table, index = of(7, 5), random.integers(0, 7, (3, 4))
    own = made()
    np.testing.assert_array_equal(own.rows(there(table), there(index)).held, table[index])
    g = of(3, 4, 5)
    found = own.added(there(g), there(index), 7, 2, False).held
    wanted = KERNELS["_embedding_gradient"][0](CPU.xp, g, index, 7, 2, False)
    np.testing.assert_allclose(found, wanted, 1e-5)
    assert own.faults.held.tolist() == [0, 0]
    own.rows(there(table), there(np.array([0, -3])))
    assert own.faults.held.tolist() == [2, -3]
