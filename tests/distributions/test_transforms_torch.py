"""Every transform beside PyTorch's: values, inverses, determinants, shapes, equality, errors."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.distributions.beside import LIBRARIES, ROUNDING, TEN_DIGITS, compare

pytestmark = pytest.mark.torch

REALS = [[-1.5, 0.2, 3.0], [0.7, -0.1, 30.0]]
POSITIVE = [[0.1, 1.0, 2.5], [3.0, 0.4, 7.0]]
MATRIX = [[0.5, 1.0, -0.3], [-0.2, 0.1, 0.7], [1.5, -1.0, 0.4]]


class Row(NamedTuple):
    """A transform, by a function of the library and its `distributions`, and an argument."""

    label: str
    make: Any
    x: Any


def matrix_of(t: Any, rows: Any) -> Any:
    return t.tensor(rows, dtype=t.float64)


ROWS = [
    Row("exp", lambda t, d: d.ExpTransform(), REALS),
    Row("exp-cached", lambda t, d: d.ExpTransform(cache_size=1), REALS),
    Row("exp-inverse", lambda t, d: d.ExpTransform().inv, POSITIVE),
    Row("power", lambda t, d: d.PowerTransform(matrix_of(t, [0.5, 2.0, -3.0])), POSITIVE),
    Row("power-number", lambda t, d: d.PowerTransform(2.0), POSITIVE),
    Row("sigmoid", lambda t, d: d.SigmoidTransform(), REALS),
    Row("softplus", lambda t, d: d.SoftplusTransform(), REALS),
    Row("tanh", lambda t, d: d.TanhTransform(), [[-1.5, 0.2, 3.0]]),
    Row("abs", lambda t, d: d.AbsTransform(), REALS),
    Row("affine", lambda t, d: d.AffineTransform(1.0, -2.0), REALS),
    Row("affine-zero", lambda t, d: d.AffineTransform(1.0, 0.5, cache_size=1), REALS),
    Row(
        "affine-event",
        lambda t, d: d.AffineTransform(matrix_of(t, [0.0, 1.0, 2.0]), matrix_of(t, REALS), 1),
        REALS,
    ),
    Row("affine-two", lambda t, d: d.AffineTransform(0.0, matrix_of(t, REALS), event_dim=2), REALS),
    Row("softmax", lambda t, d: d.SoftmaxTransform(), REALS),
    Row("sticks", lambda t, d: d.StickBreakingTransform(), REALS),
    Row(
        "correlation", lambda t, d: d.CorrCholeskyTransform(), [[-1.5, 0.2, 0.5], [0.7, -0.1, 2.0]]
    ),
    Row("cholesky", lambda t, d: d.LowerCholeskyTransform(), [MATRIX, MATRIX]),
    Row("definite", lambda t, d: d.PositiveDefiniteTransform(), MATRIX),
    Row("reshape", lambda t, d: d.ReshapeTransform((2, 3), (3, 2)), [REALS, POSITIVE]),
    Row(
        "cdf",
        lambda t, d: d.CumulativeDistributionTransform(d.Normal(0.5, 2.0)),
        [[-1.5, 0.2, 3.0]],
    ),
    Row("identity", lambda t, d: d.identity_transform, REALS),
    Row("independent", lambda t, d: d.IndependentTransform(d.ExpTransform(), 1), REALS),
    Row(
        "independent-inverse",
        lambda t, d: d.IndependentTransform(d.ExpTransform(), 2).inv,
        POSITIVE,
    ),
    Row(
        "compose",
        lambda t, d: d.ComposeTransform([d.AffineTransform(0.5, -2.0), d.SigmoidTransform()]),
        REALS,
    ),
    Row(
        "compose-events",
        lambda t, d: d.ComposeTransform(
            [d.AffineTransform(0.5, 2.0), d.StickBreakingTransform(), d.ExpTransform()]
        ),
        [[-1.5, 0.2, 3.0], [0.7, -0.1, 1.0]],
    ),
    Row(
        "compose-inverse",
        lambda t, d: (
            d.ComposeTransform([d.ExpTransform(), d.PowerTransform(2.0)], cache_size=1).inv
        ),
        POSITIVE,
    ),
    Row(
        "cat",
        lambda t, d: d.CatTransform([d.ExpTransform(), d.identity_transform], 1, [1, 2]),
        REALS,
    ),
    Row(
        "cat-negative",
        lambda t, d: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], -1, [2, 1], 1),
        REALS,
    ),
    Row(
        "cat-events",
        lambda t, d: d.CatTransform(
            [d.AffineTransform(0.0, 2.0, event_dim=1), d.ExpTransform()], 1, [1, 2]
        ),
        REALS,
    ),
    Row(
        "stack",
        lambda t, d: d.StackTransform([d.ExpTransform(), d.TanhTransform()]),
        [[0.1], [0.7]],
    ),
    Row(
        "stack-last",
        lambda t, d: d.StackTransform([d.ExpTransform(), d.AbsTransform(), d.TanhTransform()], -1),
        [[0.1, 0.4, 0.3]],
    ),
]
EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.label)


def made(row: Row, library: Any) -> tuple[Any, Any]:
    return row.make(library, library.distributions), library.tensor(row.x, dtype=library.float64)


QUESTIONS = {
    "value": lambda f, x: f(x),
    "inverse": lambda f, x: f.inv(f(x)),
    "jacobian": lambda f, x: f.log_abs_det_jacobian(x, f(x)),
    "inverse jacobian": lambda f, x: f.inv.log_abs_det_jacobian(f(x), x),
    "far inverse": lambda f, x: f.inv(f(x).clone()),
}


@EVERY
@pytest.mark.parametrize("question", QUESTIONS)
def test_values(row: Row, question: str) -> None:
    compare(lambda library: QUESTIONS[question](*made(row, library)))


@EVERY
@pytest.mark.parametrize("question", QUESTIONS)
def test_gradients(row: Row, question: str) -> None:
    def ask(library: Any) -> Any:
        transform, x = made(row, library)
        x.requires_grad_()
        result = QUESTIONS[question](transform, x)
        if not result.requires_grad:
            return "constant"
        factors = library.arange(1.0, result.numel() + 1, dtype=x.dtype).reshape(result.shape)
        (first,) = library.autograd.grad((result * factors).sum(), x, create_graph=True)
        if not first.requires_grad:
            return first
        (second,) = library.autograd.grad((first**2).sum(), x)
        return [first, second + library.zeros_like(x)]  # PyTorch's may be a symbolic zero

    # sums of large numbers that should cancel keep fewer digits
    compare(ask, {"torch.float64": (1e-6, 1e-9)} if row.label == "cdf" else TEN_DIGITS)


@EVERY
def test_facts(row: Row) -> None:
    facts = {
        "domain": lambda f, x: (repr(f.domain), f.domain.event_dim, f.domain.is_discrete),
        "codomain": lambda f, x: (repr(f.codomain), f.codomain.event_dim),
        "event_dim": lambda f, x: f.event_dim,
        "bijective": lambda f, x: f.bijective,
        "sign": lambda f, x: f.sign,
        "repr": lambda f, x: (repr(f), repr(f.inv)),
        "domain check": lambda f, x: f.domain.check(x),
        "codomain check": lambda f, x: f.codomain.check(f(x)),
        "forward": lambda f, x: f.forward_shape(x.shape),
        "inverse": lambda f, x: f.inverse_shape(f(x).shape),
        "short": lambda f, x: f.forward_shape(x.shape[:0]),
        "inverse short": lambda f, x: f.inverse_shape(x.shape[:0]),
        "double inverse": lambda f, x: f.inv.inv is f,
        "cache": lambda f, x: f.with_cache()._cache_size,
        "cache inverse": lambda f, x: f.inv.with_cache(1)._cache_size,
        "same cache": lambda f, x: f.with_cache(f._cache_size) is f,
    }
    for fact in facts.values():
        compare(lambda library, fact=fact: fact(*made(row, library)))


@EVERY
def test_cache_keeps_the_last_pair(row: Row) -> None:
    def ask(library: Any) -> Any:
        transform, x = made(row, library)
        cached = transform.with_cache(1)
        y = cached(x)
        other = cached(x + 0.0)
        return cached(x) is y, cached.inv(y) is x, cached.inv(other) is x

    compare(ask)


@EVERY
def test_copies_are_equal(row: Row) -> None:
    transform, x = made(row, retrograd)
    copy = pickle.loads(pickle.dumps(transform))
    assert (copy(x) == transform(x)).all()


def test_equality_of_all_pairs() -> None:
    def ask(library: Any) -> Any:
        left = [made(row, library)[0] for row in ROWS]
        right = [made(row, library)[0] for row in ROWS]
        return [[outcome(a, b) for b in right] for a in left]

    def outcome(a: Any, b: Any) -> Any:
        try:
            return bool(a == b), bool(a != b)
        except RuntimeError:  # parameters of shapes that do not match
            return "error"

    compare(ask)


ERRORS = [
    lambda t, d: d.ExpTransform(cache_size=2),
    lambda t, d: d.Transform()(t.ones(2)),
    lambda t, d: d.Transform().inv(t.ones(2)),
    lambda t, d: d.Transform().domain,
    lambda t, d: d.Transform().sign,
    lambda t, d: d.Transform().bijective,
    lambda t, d: d.AbsTransform().log_abs_det_jacobian(t.ones(2), t.ones(2)),
    lambda t, d: d.ReshapeTransform((2,), (3,)),
    lambda t, d: d.ReshapeTransform((2,), (2, 1)).forward_shape(t.Size([3, 3])),
    lambda t, d: d.ReshapeTransform((2,), (2, 1)).inverse_shape(t.Size([3, 3])),
    lambda t, d: d.ReshapeTransform((2,), (2, 1)).event_dim,
    lambda t, d: d.CorrCholeskyTransform().forward_shape(t.Size([4])),
    lambda t, d: d.CorrCholeskyTransform().inverse_shape(t.Size([4, 3])),
    lambda t, d: d.CorrCholeskyTransform()(t.ones(4)),
    lambda t, d: d.IndependentTransform(d.ExpTransform(), 2)(t.ones(2)),
    lambda t, d: d.IndependentTransform(d.ExpTransform(), 2).inv(t.ones(2)),
    lambda t, d: d.CatTransform([d.ExpTransform(), 3]),
    lambda t, d: d.CatTransform([d.ExpTransform()], lengths=[1, 2]),
    lambda t, d: d.CatTransform([d.ExpTransform()], dim=2)(t.ones(1)),
    lambda t, d: d.CatTransform([d.ExpTransform()], lengths=[2])(t.ones(1)),
    lambda t, d: d.CatTransform([d.ExpTransform()], lengths=[2]).inv(t.ones(1)),
    lambda t, d: d.CatTransform([d.ExpTransform()]).log_abs_det_jacobian(t.ones(1), t.ones(2)),
    lambda t, d: d.StackTransform([d.ExpTransform(), 3]),
    lambda t, d: d.StackTransform([d.ExpTransform()], dim=2)(t.ones(1)),
    lambda t, d: d.StackTransform([d.ExpTransform()]).inv(t.ones(2)),
    lambda t, d: d.StackTransform([d.ExpTransform()]).log_abs_det_jacobian(t.ones(1), t.ones(2)),
    lambda t, d: d.PowerTransform("two"),
]


@pytest.mark.parametrize("index", range(len(ERRORS)))
def test_errors(index: int) -> None:
    compare(lambda library: ERRORS[index](library, library.distributions))


def test_float32_saturates_as_in_pytorch() -> None:
    far = [-200.0, -20.0, 0.0, 20.0, 200.0]

    def ask(library: Any) -> Any:
        d = library.distributions
        x = library.tensor(far)
        found = []
        for kind in (d.SigmoidTransform, d.StickBreakingTransform, d.SoftmaxTransform):
            # the rest of the stick after 20 and more is a matter of rounding
            y = kind()(x[:3] if kind is d.StickBreakingTransform else x)
            found += [y, kind().inv(y)]
        return [*found, d.SoftplusTransform()(x), d.TanhTransform().log_abs_det_jacobian(x, x)]

    compare(ask, ROUNDING)


def test_names() -> None:
    theirs, ours = (library.distributions.transforms for library in LIBRARIES)
    assert sorted(ours.__all__) == sorted(theirs.__all__)
