"""What cuBLAS is asked for, by a stand-in that computes what it is asked."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from retrograd.backend.cuda.blas import _TYPES, Cublas, _common, _even_step
from tests.cuda.fake.cublas import Products


class Array(np.ndarray):
    """An array that has its address where CuPy's have it."""

    data = property(lambda self: SimpleNamespace(ptr=self.ctypes.data))


def array(values):
    return np.asarray(values).view(Array)


def refused(a, b):
    raise AssertionError("not by cuBLAS")


@pytest.fixture
def product():
    numpy_like = SimpleNamespace(
        dtype=np.dtype,
        matmul=refused,
        ndarray=lambda shape, dtype: array(np.full(shape, 77).astype(dtype)),
        ascontiguousarray=lambda x: array(np.ascontiguousarray(x)),
        broadcast_to=lambda x, shape: np.broadcast_to(x, shape, subok=True),
    )
    own = Cublas(numpy_like)
    own._library = Products()
    own.handle = lambda: None
    return own.matmul


def agree(product, a, b):
    a, b = array(a), array(b)
    found = product(a, b)
    wide = complex if a.dtype.kind == "c" else float
    expected = np.asarray(a).astype(wide) @ np.asarray(b).astype(wide)
    assert found.dtype == a.dtype and found.shape == expected.shape
    loose = 1e-2 if a.dtype.itemsize == 2 else 1e-5
    np.testing.assert_allclose(np.asarray(found).astype(wide), expected, rtol=loose, atol=loose)


def values(*shape, kind="float32"):
    made = np.random.default_rng(0).standard_normal(shape)
    return (made + 1j * made[::-1]).astype(kind) if "complex" in kind else made.astype(kind)


@pytest.mark.parametrize("kind", [*_TYPES])
def test_types(product, kind):
    kind = ml_dtypes.bfloat16 if kind == "bfloat16" else kind
    a, b = values(5, 3).astype(kind), values(3, 4).astype(kind)
    agree(product, a, b)
    agree(product, values(2, 5, 3).astype(kind), values(2, 3, 4).astype(kind))


WAYS = [
    lambda x: x,
    lambda x: np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2),
    lambda x: np.concatenate([x, x], -1)[..., : x.shape[-1]],
    lambda x: np.repeat(x, 2, -1)[..., ::2],
    lambda x: x[..., ::-1, :].copy()[..., ::-1, :],
]


@pytest.mark.parametrize("ways", list(itertools.product(range(len(WAYS)), repeat=2)))
@pytest.mark.parametrize("sizes", [(5, 3, 4), (1, 3, 4), (5, 1, 4), (5, 3, 1), (1, 1, 1)])
def test_however_matrices_lie(product, ways, sizes):
    m, k, n = sizes
    for lead in ((), (3,), (2, 3)):
        a, b = WAYS[ways[0]](values(*lead, m, k)), WAYS[ways[1]](values(*lead, k, n))
        agree(product, a, b)


@pytest.mark.parametrize(
    "first, second",
    [
        [(3,), (3,)],
        [(4, 3), (3,)],
        [(3,), (3, 4)],
        [(2, 4, 3), (3,)],
        [(3,), (2, 3, 4)],
        [(2, 4, 3), (3, 5)],
        [(4, 3), (2, 3, 5)],
        [(2, 1, 4, 3), (5, 3, 2)],
        [(0, 3), (3, 2)],
        [(2, 0), (0, 3)],
        [(2, 2, 0), (2, 0, 3)],
        [(0, 2, 3), (0, 3, 1)],
    ],
)
def test_shapes(product, first, second):
    agree(product, values(*first), values(*second))


def test_heads_of_attention(product):
    x = values(2, 5, 3, 4).transpose(0, 2, 1, 3)  # batch, heads, places, width
    agree(product, x, x.swapaxes(-1, -2))


def test_a_product_is_added(product):
    a, b, c = (values(*s).astype(ml_dtypes.bfloat16) for s in ((5, 30), (30, 4), (5, 4)))
    target = array(c.copy())
    own = product.__self__
    assert own.add_product(target, array(a), array(b))
    wide = c.astype(float) + a.astype(float) @ b.astype(float)
    assert np.array_equal(target, wide.astype(c.dtype))  # rounded once
    assert not own.add_product(target, array(a), array(b.astype("float32")))
    assert not own.add_product(array(np.zeros((4, 5), c.dtype)).T, array(a), array(b))
    target[...] = c
    assert own.add_product(target, array(a[:, :0]), array(b[:0])) and np.array_equal(target, c)


def test_helpers():
    assert _common((2, 1), (3,)) == (2, 3) and _common((2,), (3,)) is None
    assert _even_step((2, 3), (48, 16)) == 16 and _even_step((2, 3), (16, 32)) is None
    assert _even_step((1, 1), (5, 7)) == 0 and _even_step((3, 2), (0, 0)) == 0
