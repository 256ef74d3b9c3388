"""Random numbers: rows of `python -m benchmarks.ops`."""

import importlib
from typing import Any

from benchmarks.workloads.registry import Prepared, filled
from benchmarks.workloads.single import SIZES, Made, Shape, call, function_of, single, sizes

FEW = sizes("4", "16")

function_of("dropout", lambda torch: lambda x: torch.nn.functional.dropout(x, 0.1), more=[*FEW])


def _maker(name: str, *arguments: Any) -> None:
    """A function that makes a tensor of a size."""

    def prepare(torch: Any, shape: Shape) -> Prepared:
        function = getattr(torch, name)
        return Prepared(lambda: function(*arguments, shape), [])

    call(name, {**FEW, **SIZES})(prepare)


def _like(name: str, *arguments: Any) -> None:
    """A function that makes a tensor of the size of another."""

    def prepare(torch: Any, shape: Shape) -> Prepared:
        function, like = getattr(torch, name), filled(torch, *shape)
        return Prepared(lambda: function(like, *arguments), [])

    call(name, {**FEW, **SIZES})(prepare)


def _writer(name: str, *arguments: Any) -> None:
    """A method that overwrites a tensor."""

    def prepare(torch: Any, shape: Shape) -> Prepared:
        write = getattr(filled(torch, *shape), name)
        return Prepared(lambda: write(*arguments), [])

    call(name, {**FEW, **SIZES})(prepare)


_maker("randn")
_maker("rand")
_maker("randint", 10)
_like("rand_like")
_like("randn_like")
_like("randint_like", 10)
_writer("normal_")
_writer("uniform_", -0.1, 0.1)
_writer("bernoulli_", 0.3)
_writer("exponential_")
_writer("random_", 10)
_writer("geometric_", 0.5)
_writer("cauchy_")
_writer("log_normal_")


@call("randperm", sizes("4", "64", "1024", "65536"))
def _randperm(torch: Any, shape: Shape) -> Prepared:
    return Prepared(lambda: torch.randperm(shape[0]), [])


@call("bernoulli", {**FEW, **SIZES})
def _bernoulli(torch: Any, shape: Shape) -> Prepared:
    chances = filled(torch, *shape).sigmoid()
    return Prepared(lambda: torch.bernoulli(chances), [])


@call("normal", {**FEW, **SIZES})
def _normal(torch: Any, shape: Shape) -> Prepared:
    mean, std = filled(torch, *shape), filled(torch, *shape).exp()
    return Prepared(lambda: torch.normal(mean, std), [])


def _multinomial(op: str, count: int, replacement: bool) -> None:
    def prepare(torch: Any, shape: Shape) -> Prepared:
        weights = filled(torch, *shape).exp()
        return Prepared(lambda: torch.multinomial(weights, count, replacement), [])

    call(op, sizes("4", "4x8", "64x512"))(prepare)


_multinomial("multinomial", 1, False)
_multinomial("multinomial_few", 3, False)
_multinomial("multinomial_again", 16, True)


def _categorical(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.distributions").Categorical


@single("Categorical", sizes("1x2"))
def _categorical_made(torch: Any, shape: Shape) -> Made:
    made = _categorical(torch)
    return lambda x: made(logits=x).logits, [filled(torch, *shape)]


@call("Categorical.sample", sizes("1x2"))
def _categorical_sample(torch: Any, shape: Shape) -> Prepared:
    return Prepared(_categorical(torch)(logits=filled(torch, *shape)).sample, [])


@call("Categorical.log_prob", sizes("1x2"))
def _categorical_log_prob(torch: Any, shape: Shape) -> Prepared:
    logits, chosen = filled(torch, *shape).requires_grad_(), torch.tensor([1])
    choice = _categorical(torch)(logits=logits)
    return Prepared(lambda: choice.log_prob(chosen), [logits])
