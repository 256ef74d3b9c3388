"""Low-rank decompositions, and what is compared beyond the samples of the ops."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

LIBRARIES = (retrograd, torch)
MATRIX = np.random.default_rng(0).normal(size=(9, 6))
SYMMETRIC = MATRIX.T @ MATRIX + np.diag(np.arange(6.0))
POSITIVE = np.eye(6) * 3 + np.ones((6, 6))


def each(call):
    """The results of one call in both libraries, after the same seed."""
    found = []
    for library in LIBRARIES:
        library.manual_seed(1)
        result = call(library)
        results = result if isinstance(result, (tuple, list)) else [result]
        found.append([x.detach().numpy() if hasattr(x, "detach") else x for x in results])
    return zip(*found, strict=True)


def check_parts(call):
    """Singular values and the product of the parts: signs of vectors are the library's choice."""
    parts = list(each(call))
    np.testing.assert_allclose(*parts[1], rtol=1e-9, atol=1e-9)
    ours, theirs = ((u * s) @ v.T for u, s, v in zip(*parts, strict=True))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("rows", [9, 4])
@pytest.mark.parametrize("name", ["svd_lowrank", "pca_lowrank"])
def test_same_seed_same_space(name, rows):
    check_parts(lambda t: getattr(t, name)(t.from_numpy(MATRIX[:rows]), 3))


def test_svd_lowrank_of_a_difference():
    mean = MATRIX.mean(axis=0, keepdims=True)
    check_parts(lambda t: t.svd_lowrank(t.from_numpy(MATRIX), 2, 3, t.from_numpy(mean)))


def test_gradient_of_singular_values():
    def gradient(t):
        a = t.from_numpy(MATRIX).requires_grad_()
        t.pca_lowrank(a, 3)[1].sum().backward()
        return a.grad

    for ours, theirs in each(gradient):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg(largest, general):
    def solve(t):
        b = t.from_numpy(POSITIVE) if general else None
        return t.lobpcg(t.from_numpy(SYMMETRIC), 2, b, largest=largest, niter=200, tol=1e-10)

    (values, their_values), (vectors, their_vectors) = each(solve)
    np.testing.assert_allclose(values, their_values, rtol=1e-6)
    metric = POSITIVE if general else np.eye(6)
    overlap = np.abs(np.diag(vectors.T @ metric @ their_vectors))
    np.testing.assert_allclose(overlap, 1, rtol=1e-4)


def test_lobpcg_gradient():
    def gradient(t):
        a = t.from_numpy(SYMMETRIC).requires_grad_()
        t.lobpcg(a, 2, niter=200, tol=1e-12)[0].sum().backward()
        return (a.grad + a.grad.mT) / 2

    for ours, theirs in each(gradient):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 2, 2)])
def test_gradient_through_fill_diagonal(shape):
    def gradient(t):
        x = t.ones(shape, requires_grad=True)
        ((x * 2).fill_diagonal_(7.0, wrap=True) * x).sum().backward()
        return x.grad

    for ours, theirs in each(gradient):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_empty_permuted_strides(order):
    ours, theirs = (t.empty_permuted((2, 3, 4), order) for t in LIBRARIES)
    assert ours.stride() == theirs.stride()
    assert tuple(ours.shape) == tuple(theirs.shape)


SYMBOLS = ("symeig", "eig", "lstsq", "solve", "matrix_rank")


@pytest.mark.parametrize("name", SYMBOLS)
def test_removed_functions(name):
    texts = []
    for t in LIBRARIES:
        a = t.eye(2)
        args = (a, a) if name in ("lstsq", "solve") else (a,)
        with pytest.raises(RuntimeError) as caught, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            getattr(t, name)(*args)
        texts.append(str(caught.value).split("\n")[0])
    assert texts[0] == texts[1]
