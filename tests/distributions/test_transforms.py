"""Transforms by their own laws: inverses, determinants of numerical Jacobians, caches."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd import distributions as d
from retrograd.distributions import constraints

DOUBLE = torch.float64


def number(value: float) -> torch.Tensor:
    return torch.tensor(value, dtype=DOUBLE)


# bijective ones: how to make it, an argument, and which elements of the result are free
BIJECTIVE: dict[str, tuple[Any, Any, Any]] = {
    "exp": (lambda: d.ExpTransform(), [0.5, -1.0], ...),
    "exp inverse": (lambda: d.ExpTransform().inv, [0.5, 2.0], ...),
    "power": (lambda: d.PowerTransform(torch.tensor([2.0, -0.5], dtype=DOUBLE)), [0.5, 2.0], ...),
    "sigmoid": (lambda: d.SigmoidTransform(), [0.5, -3.0], ...),
    "softplus": (lambda: d.SoftplusTransform(), [0.5, -3.0], ...),
    "tanh": (lambda: d.TanhTransform(), [0.5, -2.0], ...),
    "affine": (lambda: d.AffineTransform(1.0, -2.0), [0.5, -2.0], ...),
    "cdf": (
        lambda: d.CumulativeDistributionTransform(d.Gumbel(number(0.5), number(2.0))),
        [0.5, -2.0],
        ...,
    ),
    "sticks": (lambda: d.StickBreakingTransform(), [0.5, -0.2, 1.0], slice(0, 3)),
    "correlation": (lambda: d.CorrCholeskyTransform(), [0.5, -0.2, 1.0], [3, 6, 7]),
    "chain": (
        lambda: d.ComposeTransform([d.TanhTransform(), d.AffineTransform(2.0, 0.5)]),
        [0.5, -0.2],
        ...,
    ),
    "parts": (
        lambda: d.CatTransform([d.ExpTransform(), d.TanhTransform()], lengths=[2, 1]),
        [0.5, -0.2, 0.4],
        ...,
    ),
}


@pytest.mark.parametrize("name", BIJECTIVE)
def test_inverse_and_jacobian(name: str) -> None:
    make, given, free = BIJECTIVE[name]
    transform = make()
    x = torch.tensor(given, dtype=DOUBLE)
    y = transform(x)
    np.testing.assert_allclose(transform.inv(y), x, rtol=1e-9)
    assert bool(transform.codomain.check(y).all())
    jacobian = torch.func.jacrev(lambda v: transform(v).reshape(-1)[free])(x)
    expected = torch.linalg.slogdet(jacobian).logabsdet
    found = transform.log_abs_det_jacobian(x, y)
    np.testing.assert_allclose(found.sum(), expected, rtol=1e-9)
    np.testing.assert_allclose(transform.inv.log_abs_det_jacobian(y, x), -found, rtol=1e-12)


@pytest.mark.parametrize("name", BIJECTIVE)
def test_pickled(name: str) -> None:
    make, given, _ = BIJECTIVE[name]
    x = torch.tensor(given, dtype=DOUBLE)
    for transform in (make(), make().inv):
        again = pickle.loads(pickle.dumps(transform))
        value = x if transform._inv is None else make()(x)
        np.testing.assert_array_equal(again(value), transform(value))
        assert repr(again) == repr(transform)


def test_cached_inverse_keeps_the_graph() -> None:
    transform = d.TanhTransform(cache_size=1)
    x = torch.tensor([30.0, -30.0], requires_grad=True)
    y = transform(x)
    assert transform.inv(y) is x
    # without the cache the argument is lost to rounding
    assert torch.isinf(d.TanhTransform().inv(y)).all()


@pytest.mark.parametrize(
    "constraint",
    [
        constraints.real,
        constraints.positive,
        constraints.greater_than(2.0),
        constraints.less_than(torch.tensor([1.0, 2.0, 3.0])),
        constraints.interval(-1.0, 3.0),
        constraints.half_open_interval(0.0, 1.0),
        constraints.simplex,
        constraints.corr_cholesky,
        constraints.independent(constraints.unit_interval, 1),
        constraints.cat([constraints.positive, constraints.real], -1, [1, 2]),
        constraints.stack([constraints.positive, constraints.real, constraints.real], -1),
    ],
    ids=repr,
)
def test_registered_transforms_reach_the_constraint(constraint: Any) -> None:
    torch.manual_seed(0)
    x = torch.randn(5, 3)
    for registry in (d.biject_to, d.transform_to):
        transform = registry(constraint)
        y = transform(x)
        assert bool(constraint.check(y).all())
        if transform.bijective:
            np.testing.assert_allclose(transform.inv(y), x, rtol=1e-4, atol=1e-5)


def test_registering() -> None:
    class Even(constraints.Constraint):
        pass

    registry = d.constraint_registry.ConstraintRegistry()
    with pytest.raises(NotImplementedError, match="Cannot transform Even constraints"):
        registry(Even())
    registry.register(Even, lambda constraint: d.AffineTransform(0, 2))
    assert registry(Even()) == d.AffineTransform(0, 2)
