"""The base classes and helpers of distributions, beside PyTorch's."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
import warnings
from typing import Any, ClassVar

import pytest

torch = pytest.importorskip("torch")

import retrograd
from tests.distributions.beside import LIBRARIES, compare

pytestmark = pytest.mark.torch


def bare(library: Any) -> type:
    """A distribution of which only draws and densities are known."""

    class Bare(library.distributions.Distribution):
        def rsample(self, sample_shape: Any = ()) -> Any:
            return library.ones(self._extended_shape(sample_shape), requires_grad=True) * 2

        def log_prob(self, value: Any) -> Any:
            if self._validate_args:
                self._validate_sample(value)
            return value * 0

    return Bare


def constrained(library: Any) -> type:
    """A distribution with a parameter and a support."""
    constraints = library.distributions.constraints
    lazy = library.distributions.utils.lazy_property

    class Constrained(bare(library)):
        arg_constraints: ClassVar[dict[str, Any]] = {
            "rate": constraints.positive,
            "square": constraints.positive,
        }
        support = constraints.real_vector

        def __init__(self, rate: Any, validate_args: Any = None) -> None:
            self.rate = rate
            super().__init__(rate.shape, library.Size([2]), validate_args)

        @lazy
        def square(self) -> Any:
            return self.rate**2

    return Constrained


PARTS = [
    lambda t, d: (d.batch_shape, d.event_shape, d._validate_args),
    lambda t, d: d.sample((4,)),
    lambda t, d: d.sample().requires_grad,
    lambda t, d: d.rsample([4]).requires_grad,
    lambda t, d: d._extended_shape((5,)),
    lambda t, d: d._extended_shape(t.Size([5])),
    lambda t, d: d.mean,
    lambda t, d: d.variance,
    lambda t, d: d.stddev,
    lambda t, d: str(d.mode).replace("retrograd", "torch"),
    lambda t, d: d.cdf(t.ones(2)),
    lambda t, d: d.icdf(t.ones(2)),
    lambda t, d: d.entropy(),
    lambda t, d: d.perplexity(),
    lambda t, d: d.enumerate_support(),
    lambda t, d: d.expand((2,)),
    lambda t, d: d.has_rsample or d.has_enumerate_support,
    lambda t, d: repr(d),
    lambda t, d: d.log_prob(t.ones(3, 2)),
    lambda t, d: d.log_prob(t.ones(3, 1)),
    lambda t, d: d.log_prob(t.ones(2, 2)),
    lambda t, d: d.log_prob(t.ones(())),
    lambda t, d: d.log_prob(t.full((3, 2), float("nan"))),
    lambda t, d: d.log_prob(1.0),
    lambda t, d: d.log_prob([1.0]),
    lambda t, d: d.square,
    lambda t, d: (d.square.requires_grad, "square" in vars(d)),
]


@pytest.mark.parametrize("index", range(len(PARTS)))
@pytest.mark.parametrize("validate", [None, True, False])
def test_parts(index: int, validate: bool | None) -> None:
    def ask(library: Any) -> Any:
        rate = library.tensor([1.0, 2.0, 3.0], requires_grad=True)
        with library.no_grad():
            return PARTS[index](library, constrained(library)(rate, validate))

    compare(ask)


@pytest.mark.parametrize("rate", [[1.0, -1.0], [float("nan")], -1.0, [[0.0]]])
def test_wrong_parameter(rate: Any) -> None:
    theirs, _ = compare(lambda library: constrained(library)(library.tensor(rate)))
    assert theirs[:2] == ("error", "ValueError")


def test_whole_messages() -> None:
    """The lines after the first show the values."""
    for call in (
        lambda t: t.distributions.LogNormal(t.tensor([0.0, 1.0]), t.tensor([1.0, -1.0])),
        lambda t: t.distributions.LogNormal(0.0, 1.0).log_prob(t.tensor([-1.0, 1.0])),
    ):
        texts = []
        for library in LIBRARIES:
            with pytest.raises(ValueError) as caught:
                call(library)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]
        assert "\n" in texts[0]


def test_warnings_of_bare_distributions() -> None:
    def ask(library: Any) -> Any:
        kind = bare(library)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            distribution = kind()
            distribution.log_prob(library.ones(()))
            distribution.sample_n(3)
            kind(validate_args=False).log_prob(library.ones(()))
        return [
            (
                w.category.__name__,
                str(w.message).replace("'>", "").partition("> ")[2] or str(w.message),
            )
            for w in caught
        ]

    theirs, _ = compare(ask)
    assert len(theirs) == 3


def test_default_of_validation() -> None:
    for library in LIBRARIES:
        d = library.distributions
        try:
            d.Distribution.set_default_validate_args(False)
            assert d.LogNormal(0.0, -1.0)._validate_args is False
            with pytest.raises(ValueError):
                d.LogNormal(0.0, -1.0, validate_args=True)
        finally:
            d.Distribution.set_default_validate_args(True)
        with pytest.raises(ValueError):
            d.LogNormal(0.0, -1.0)
        with pytest.raises(ValueError):
            d.Distribution.set_default_validate_args("yes")


HELPERS = [
    lambda t, u: u.broadcast_all(t.ones(2, 1), 3, t.zeros(3)),
    lambda t, u: u.broadcast_all(1, 2.5),
    lambda t, u: u.broadcast_all(t.ones(2, dtype=t.float64), 3),
    lambda t, u: u.broadcast_all(True, t.ones(2, dtype=t.int64)),
    lambda t, u: u.broadcast_all("a", 1),
    lambda t, u: u.broadcast_all(None),
    lambda t, u: u.broadcast_all(t.ones(2), t.ones(3)),
    lambda t, u: u.logits_to_probs(t.tensor([0.5, -1.0, 2.0])),
    lambda t, u: u.logits_to_probs(t.tensor([0.5, -1.0, 2.0]), is_binary=True),
    lambda t, u: u.probs_to_logits(t.tensor([0.0, 0.3, 1.0])),
    lambda t, u: u.probs_to_logits(t.tensor([0.0, 0.3, 1.0]), is_binary=True),
    lambda t, u: u.clamp_probs(t.tensor([0.0, 0.3, 1.0])),
    lambda t, u: u.clamp_probs(t.tensor([0.0, 0.3, 1.0], dtype=t.float64)),
    lambda t, u: u._sum_rightmost(t.arange(24.0).reshape(2, 3, 4), 2),
    lambda t, u: u._sum_rightmost(t.arange(4.0), 0),
    lambda t, u: u.tril_matrix_to_vec(t.arange(18).reshape(2, 3, 3)),
    lambda t, u: u.tril_matrix_to_vec(t.arange(9).reshape(3, 3), diag=-1),
    lambda t, u: u.tril_matrix_to_vec(t.arange(9).reshape(3, 3), diag=1),
    lambda t, u: u.tril_matrix_to_vec(t.arange(9).reshape(3, 3), diag=3),
    lambda t, u: u.tril_matrix_to_vec(t.arange(9).reshape(3, 3), diag=-4),
    lambda t, u: u.vec_to_tril_matrix(t.arange(6.0)),
    lambda t, u: u.vec_to_tril_matrix(t.arange(12.0).reshape(2, 6)),
    lambda t, u: u.vec_to_tril_matrix(t.arange(6.0), diag=-1),
    lambda t, u: u.vec_to_tril_matrix(t.arange(8.0), diag=1),
    lambda t, u: u.vec_to_tril_matrix(t.arange(5.0)),
    lambda t, u: u.euler_constant,
]


@pytest.mark.parametrize("index", range(len(HELPERS)))
def test_helpers(index: int) -> None:
    compare(lambda library: HELPERS[index](library, library.distributions.utils))


def test_lazy_property_seen_from_the_class() -> None:
    def ask(library: Any) -> Any:
        lazy = library.distributions.utils.lazy_property
        found = library.distributions.MultivariateNormal.precision_matrix
        return isinstance(found, lazy), isinstance(found, property)

    compare(ask)


FAMILY = [
    ("Normal", (0.5, 2.0)),
    ("Gamma", (2.0, 3.0)),
    ("Beta", (0.5, 2.0)),
    ("Exponential", (2.0,)),
    ("Bernoulli", (0.25,)),
]


@pytest.mark.parametrize(("name", "numbers"), FAMILY, ids=lambda given: str(given))
def test_entropy_of_the_exponential_family(name: str, numbers: tuple[float, ...]) -> None:
    """By the gradient of the normalizer, also where a subclass knows a formula."""

    def ask(library: Any) -> Any:
        d = library.distributions
        made = getattr(d, name)(
            *(library.tensor([n, n / 2], dtype=library.float64) for n in numbers)
        )
        general = d.ExponentialFamily.entropy(made)
        return general, general.requires_grad

    compare(ask)


def test_abstract_exponential_family() -> None:
    for part in ("_natural_params", "_mean_carrier_measure"):
        compare(
            lambda library, part=part: getattr(
                library.distributions.ExponentialFamily(validate_args=False), part
            )
        )
    compare(
        lambda library: library.distributions.ExponentialFamily(
            validate_args=False
        )._log_normalizer()
    )


def test_names_and_import_paths() -> None:
    theirs, ours = (library.distributions for library in LIBRARIES)
    assert sorted(ours.__all__) == sorted(theirs.__all__)
    for name in theirs.__all__:
        assert hasattr(ours, name)
    for module in pkgutil.iter_modules(theirs.__path__):
        home = importlib.import_module(f"retrograd.distributions.{module.name}")
        original = importlib.import_module(f"torch.distributions.{module.name}")
        assert set(original.__all__) <= set(vars(home))


def test_copies() -> None:
    library = retrograd
    d = library.distributions
    made = [
        d.MultivariateNormal(library.zeros(2), library.eye(2)),
        d.LogNormal(library.zeros(2), 1.0),
        d.RelaxedOneHotCategorical(library.tensor(0.5), library.ones(3)),
        d.Independent(d.Normal(library.zeros(2), 1.0), 1),
    ]
    for distribution in made:
        for clone in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
            assert repr(clone) == repr(distribution)
            library.manual_seed(1)
            expected = distribution.sample()
            library.manual_seed(1)
            assert (clone.sample() == expected).all()


def test_functional_transforms() -> None:
    """Densities without validation go through `vmap`, `grad` and `jacfwd`."""

    def ask(library: Any) -> Any:
        d = library.distributions

        def density(x: Any, scale: Any) -> Any:
            return d.LogNormal(0.5, scale, validate_args=False).log_prob(x)

        x = library.tensor([0.5, 1.5], dtype=library.float64)
        scale = library.tensor([1.0, 2.0], dtype=library.float64)
        func = library.func
        return (
            func.vmap(density)(x, scale),
            func.vmap(func.grad(density, argnums=1))(x, scale),
            func.jacfwd(density)(x, scale),
            func.jacrev(density, argnums=1)(x, scale),
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # PyTorch's own, in its jacfwd
        compare(ask)


def test_signatures() -> None:
    """Constructors and public methods take the same arguments by the same names."""

    def names(function: Any) -> list[str]:
        return list(inspect.signature(function).parameters)

    theirs, ours = (library.distributions for library in LIBRARIES)
    for name in theirs.__all__:
        original, made = getattr(theirs, name), getattr(ours, name)
        if not isinstance(original, type):
            continue
        assert names(made.__init__) == names(original.__init__), name
        for method, function in inspect.getmembers(original, inspect.isfunction):
            if not method.startswith("_"):
                assert names(getattr(made, method)) == names(function), (name, method)
