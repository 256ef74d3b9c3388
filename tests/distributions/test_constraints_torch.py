"""Every constraint and the registries of transforms for them, beside PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tests.distributions.beside import LIBRARIES, compare

pytestmark = pytest.mark.torch

NAN = float("nan")
NUMBERS = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf"), -float("inf"), NAN]
VECTORS = [
    [0.2, 0.8],
    [0.5, 0.5000001],
    [0.0, 1.0],
    [1.0, 1.0],
    [-0.5, 1.5],
    [0.3, 0.3],
    [NAN, 1.0],
]
MATRICES = [
    [[1.0, 0.0], [0.6, 0.8]],
    [[1.0, 0.5], [0.5, 1.0]],
    [[1.0, 2.0], [2.0, 1.0]],
    [[1.0, 0.0], [0.0, -1.0]],
    [[0.0, 0.0], [0.0, 0.0]],
    [[1.0, 0.0], [0.3, 2.0]],
    [[1.0, 1e-9], [1e-9, 1.0]],
]
CONSTRAINTS = {
    "boolean": (lambda t, c: c.boolean, NUMBERS),
    "one_hot": (lambda t, c: c.one_hot, VECTORS),
    "nonnegative_integer": (lambda t, c: c.nonnegative_integer, NUMBERS),
    "positive_integer": (lambda t, c: c.positive_integer, NUMBERS),
    "integer_interval": (lambda t, c: c.integer_interval(-1, 2), NUMBERS),
    "integer_less_than": (lambda t, c: c._IntegerLessThan(1), NUMBERS),
    "real": (lambda t, c: c.real, NUMBERS),
    "real_vector": (lambda t, c: c.real_vector, VECTORS),
    "positive": (lambda t, c: c.positive, NUMBERS),
    "nonnegative": (lambda t, c: c.nonnegative, NUMBERS),
    "greater_than": (lambda t, c: c.greater_than(0.5), NUMBERS),
    "greater_than_eq": (lambda t, c: c.greater_than_eq(1), NUMBERS),
    "less_than": (lambda t, c: c.less_than(1.0), NUMBERS),
    "less_than_tensor": (lambda t, c: c.less_than(t.tensor(1.0)), NUMBERS),
    "multinomial": (lambda t, c: c.multinomial(1), VECTORS),
    "unit_interval": (lambda t, c: c.unit_interval, NUMBERS),
    "interval": (lambda t, c: c.interval(-1.0, 2.0), NUMBERS),
    "half_open_interval": (lambda t, c: c.half_open_interval(-1.0, 2.0), NUMBERS),
    "half_open_unit": (lambda t, c: c.half_open_interval(0.0, 1.0), NUMBERS),
    "simplex": (lambda t, c: c.simplex, VECTORS),
    "lower_triangular": (lambda t, c: c.lower_triangular, MATRICES),
    "lower_cholesky": (lambda t, c: c.lower_cholesky, MATRICES),
    "corr_cholesky": (lambda t, c: c.corr_cholesky, MATRICES),
    "square": (lambda t, c: c.square, MATRICES),
    "not square": (lambda t, c: c.square, VECTORS),
    "symmetric": (lambda t, c: c.symmetric, MATRICES[1:3]),
    "not symmetric": (lambda t, c: c.symmetric, MATRICES),
    "not square, symmetric": (lambda t, c: c.symmetric, VECTORS),
    "positive_semidefinite": (lambda t, c: c.positive_semidefinite, MATRICES[1:5]),
    "not symmetric, semidefinite": (lambda t, c: c.positive_semidefinite, MATRICES),
    "positive_definite": (lambda t, c: c.positive_definite, MATRICES[1:5]),
    "not symmetric, definite": (lambda t, c: c.positive_definite, MATRICES),
    "cat": (lambda t, c: c.cat([c.positive, c.real], 0, [3, 9]), NUMBERS),
    "cat rows": (lambda t, c: c.cat([c.positive, c.boolean], -1), VECTORS),
    "cat, wrong dim": (lambda t, c: c.cat([c.positive], 3), VECTORS),
    "stack": (lambda t, c: c.stack([c.positive, c.boolean], -1), VECTORS),
    "stack rows": (lambda t, c: c.stack([c.simplex, c.real_vector], 0), VECTORS[:2]),
    "stack events": (lambda t, c: c.stack([c.simplex, c.real_vector], -2), VECTORS[:2]),
    "stack, wrong dim": (lambda t, c: c.stack([c.positive], 3), VECTORS),
    "independent": (lambda t, c: c.independent(c.positive, 1), VECTORS),
    "independent 0": (lambda t, c: c.independent(c.positive, 0), VECTORS),
    "independent, too many": (lambda t, c: c.independent(c.positive, 3), VECTORS),
    "mixture": (lambda t, c: c.MixtureSameFamilyConstraint(c.positive), NUMBERS),
    "mixture of vectors": (lambda t, c: c.MixtureSameFamilyConstraint(c.simplex), VECTORS),
    "dependent": (lambda t, c: c.dependent, NUMBERS),
    "dependent with facts": (lambda t, c: c.dependent(is_discrete=True, event_dim=1), NUMBERS),
    "abstract": (lambda t, c: c.Constraint(), NUMBERS),
}


def made(name: str, library: Any) -> tuple[Any, Any]:
    make, values = CONSTRAINTS[name]
    return make(library, library.distributions.constraints), library.tensor(values)


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_check(name: str) -> None:
    compare(lambda library: made(name, library)[0].check(made(name, library)[1]))


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("fact", ["repr", "is_discrete", "event_dim", "dependent"])
def test_facts(name: str, fact: str) -> None:
    def ask(library: Any) -> Any:
        constraint, _ = made(name, library)
        if fact == "dependent":
            return library.distributions.constraints.is_dependent(constraint)
        return repr(constraint) if fact == "repr" else getattr(constraint, fact)

    compare(ask)


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_registries(name: str, registry: str) -> None:
    """Both find the same transform, and its values and determinants are the same."""

    def found(library: Any) -> Any:
        transform = getattr(library.distributions, registry)(made(name, library)[0])
        return repr(transform), repr(transform.domain), repr(transform.codomain)

    def value(library: Any) -> Any:
        constraint, _ = made(name, library)
        transform = getattr(library.distributions, registry)(constraint)
        x = library.arange(-2.0, 7.0, dtype=library.float64).div(4)
        x = x.reshape(3, 3) if transform.domain.event_dim > 1 else x[:6].reshape(2, 3)
        y = transform(x)
        if not transform.bijective:
            return y, constraint.check(y)
        return y, constraint.check(y), transform.inv(y), transform.log_abs_det_jacobian(x, y)

    compare(found)
    compare(value)


ERRORS = [
    lambda t, c: c.independent(3, 1),
    lambda t, c: c.independent(c.real, 1.0),
    lambda t, c: c.independent(c.real, -1),
    lambda t, c: c.MixtureSameFamilyConstraint(3),
    lambda t, c: c.cat([c.real, 3]),
    lambda t, c: c.cat([c.real], lengths=[1, 2]),
    lambda t, c: c.stack([c.real, 3]),
    lambda t, c: c.independent(c.dependent, 1).event_dim,
    lambda t, c: t.distributions.biject_to.register(3, None)(lambda constraint: None),
    lambda t, c: t.distributions.biject_to.register(int, lambda constraint: None),
    lambda t, c: t.distributions.biject_to(c.boolean),
]


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index: int) -> None:
    theirs, _ = compare(lambda library: ERRORS[index](library, library.distributions.constraints))
    assert theirs[0] == "error"


def test_dependent_property() -> None:
    def ask(library: Any) -> Any:
        c = library.distributions.constraints

        class Example:
            @c.dependent_property
            def plain(self) -> Any:
                return c.real

            @c.dependent_property(is_discrete=True, event_dim=2)
            def known(self) -> Any:
                return c.positive

        return (
            *(c.is_dependent(Example.plain), c.is_dependent(Example.known)),
            *(Example.known.event_dim, Example.known.is_discrete),
            *(repr(Example().plain), repr(Example().known)),
        )

    compare(ask)


def test_names() -> None:
    theirs, ours = (library.distributions.constraints for library in LIBRARIES)
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        assert (
            repr(getattr(ours, name)).replace("retrograd.", "torch.").partition(" at ")[0]
            == repr(getattr(theirs, name)).partition(" at ")[0]
        )
