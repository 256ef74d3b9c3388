"""Decompositions whose vectors are free in sign or phase: functions that do not depend on it."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
from retrograd.linalg import LinAlgError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

SHAPES = [(3, 3), (4, 3), (3, 4), (2, 4, 3), (2, 3, 4)]


def matrix(shape, dtype="float64", symmetric=False):
    generator = np.random.default_rng(abs(hash((shape, symmetric))) % 1000)
    values = generator.uniform(-2, 2, shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.uniform(-2, 2, shape)
    if symmetric:
        values = values + np.swapaxes(values, -1, -2).conj()
    return values.astype(dtype)


def weights(tensor, library):
    """Fixed weights that make a scalar of a tensor, the same in both libraries."""
    values = np.cos(np.arange(int(np.prod(tensor.shape)), dtype=np.float64)).reshape(tensor.shape)
    return library.from_numpy(np.asarray(values))


def scalar(tensor, library):
    real = tensor.real + 0.5 * tensor.imag if tensor.is_complex() else tensor
    return (real * weights(real, library)).sum()


def everything(function, values, library):
    """Value, gradient and gradient of the gradient of a scalar function."""
    x = library.from_numpy(values.copy()).requires_grad_()
    loss = scalar(function(x, library), library)
    (first,) = library.autograd.grad(loss, x, create_graph=True)
    (second,) = library.autograd.grad(scalar(first, library), x)
    return [t.detach().resolve_conj().numpy() for t in (loss, first, second)]


def assert_same(function, values):
    ours, theirs = (everything(function, values, library) for library in (retrograd, torch))
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)


def svd_rebuilt(x, library):
    u, s, vh = library.linalg.svd(x, full_matrices=False)
    return (u * (s * s).unsqueeze(-2)) @ vh


def svd_of_full_matrices(x, library):
    u, s, vh = library.linalg.svd(x)
    count = s.shape[-1]
    return (u[..., :count] * s.exp().unsqueeze(-2)) @ vh[..., :count, :]


def svd_left(x, library):
    u = library.linalg.svd(x, full_matrices=False).U
    return (u * u.conj()).real if u.is_complex() else u * u


def svd_right(x, library):
    v = library.svd(x).V
    return (v * v.conj()).real if v.is_complex() else v * v


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("function", [svd_rebuilt, svd_of_full_matrices, svd_left, svd_right])
def test_svd(function, shape, dtype):
    assert_same(function, matrix(shape, dtype))


def eigh_rebuilt(x, library):
    values, vectors = library.linalg.eigh(x)
    return (vectors * values.exp().unsqueeze(-2)) @ vectors.mH


def eigh_vectors(x, library):
    vectors = library.linalg.eigh(x).eigenvectors
    return (vectors * vectors.conj()).real if vectors.is_complex() else vectors * vectors


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("function", [eigh_rebuilt, eigh_vectors])
def test_eigh(function, shape, dtype):
    assert_same(function, matrix(shape, dtype, symmetric=True))


def eig_rebuilt(x, library):
    values, vectors = library.linalg.eig(x)
    rebuilt = (vectors * (values * values).unsqueeze(-2)) @ library.linalg.inv(vectors)
    return rebuilt


def eig_vectors(x, library):
    vectors = library.linalg.eig(x).eigenvectors
    return (vectors * vectors.conj()).real.sum(-2) + vectors.abs().pow(3).sum()


def eig_values(x, library):
    values = library.linalg.eigvals(x)
    return library.stack([values.sum(), (values * values).sum()])


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 3)])
@pytest.mark.parametrize("function", [eig_rebuilt, eig_vectors, eig_values])
def test_eig(function, shape, dtype):
    assert_same(function, matrix(shape, dtype))


def test_a_loss_that_depends_on_a_free_phase_is_refused():
    x = retrograd.from_numpy(matrix((3, 3), "complex128")).requires_grad_()
    with pytest.raises(RuntimeError, match="singular vectors in the complex case"):
        retrograd.linalg.svd(x).U.real.sum().backward()
    with pytest.raises(RuntimeError, match="eigenvectors in the complex case"):
        retrograd.linalg.eig(x).eigenvectors.real.sum().backward()


@pytest.mark.parametrize(
    "call",
    [
        lambda L: L.linalg.qr(L.ones(4, 3, requires_grad=True), mode="complete").R.sum(),
        lambda L: L.linalg.qr(L.ones(4, 3, requires_grad=True), mode="r").R.sum(),
        lambda L: L.geqrf(L.ones(3, 3, requires_grad=True))[0].sum(),
    ],
)
def test_what_has_no_derivative_says_so(call):
    messages = []
    for library in (retrograd, torch):
        with pytest.raises((RuntimeError, NotImplementedError)) as caught:
            call(library).backward()
        messages.append((caught.type.__name__, str(caught.value)))
    assert messages[0] == messages[1]


def difference(function, values, step=1e-6):
    """The gradient by central differences."""
    found = np.zeros_like(values)
    for place in np.ndindex(*values.shape):
        ends = []
        for sign in (1, -1):
            moved = values.copy()
            moved[place] += sign * step
            ends.append(function(retrograd.from_numpy(moved)).item())
        found[place] = (ends[0] - ends[1]) / (2 * step)
    return found


@pytest.mark.parametrize(
    "values",
    [
        [[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]],
        [[0.0]],
        [[0.0, 0.0], [0.0, 0.0]],
    ],
)
def test_the_determinant_of_a_singular_matrix_has_a_gradient(values):
    values = np.array(values)
    x = retrograd.from_numpy(values.copy()).requires_grad_()
    retrograd.linalg.det(x).backward()
    expected = difference(retrograd.linalg.det, values)
    np.testing.assert_allclose(x.grad.numpy(), expected, atol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: retrograd.linalg.cond(x, "fro"),
        lambda x: retrograd.linalg.cond(x, 1),
        lambda x: retrograd.vander(x.flatten(), increasing=True).pow(2).sum(),
        lambda x: retrograd.linalg.lstsq(x, x @ x, driver="gelsd").solution.pow(2).sum(),
    ],
)
def test_gradients_that_pytorch_cannot_compute(function):
    values = np.array([[3.0, 1.0], [-0.5, 2.0]])
    x = retrograd.from_numpy(values.copy()).requires_grad_()
    function(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), difference(function, values), rtol=1e-5, atol=1e-6)


def test_residuals_of_least_squares_have_a_gradient():
    values = matrix((4, 2))
    target = retrograd.from_numpy(matrix((4, 3)))

    def function(x):
        return retrograd.linalg.lstsq(x, target, driver="gelsd").residuals.sum()

    x = retrograd.from_numpy(values.copy()).requires_grad_()
    function(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), difference(function, values), rtol=1e-5, atol=1e-6)


def test_lin_alg_error_is_a_runtime_error():
    assert issubclass(LinAlgError, RuntimeError)
    with pytest.raises(LinAlgError, match="The diagonal element 2 is zero"):
        retrograd.linalg.inv(retrograd.ones(2, 2))


def test_ex_functions_report_instead_of_raising():
    singular = retrograd.stack([retrograd.eye(2), retrograd.ones(2, 2)])
    assert retrograd.linalg.inv_ex(singular).info.tolist() == [0, 2]
    assert retrograd.linalg.inv_ex(singular).inverse[0].tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert retrograd.linalg.cholesky_ex(-singular).info.tolist() == [1, 1]
    assert retrograd.linalg.solve_ex(singular, retrograd.ones(2)).info.tolist() == [0, 2]
    assert retrograd.linalg.lu_factor_ex(singular).info.tolist() == [0, 2]
