"""What a node computes in C is what its Python function computes, bit for bit, for every op."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.core import AVAILABLE
from retrograd.engine.node import Node
from retrograd.ops.registry import OPS
from tests.core.both import needs_core, on_both, same, switched
from tests.ops.compare import build, cases, flatten, function_of, is_tensor

if AVAILABLE:
    from retrograd.core._core import Run

pytestmark = [needs_core, pytest.mark.filterwarnings("ignore::UserWarning")]

DTYPES = ("float32", "float64")
CASES: dict[str, list[Any]] = {}
for _name, _sample in cases():
    if _sample.error is None and _sample.grad:
        CASES.setdefault(_name, []).append(_sample)


def array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def nodes_behind(results: Any) -> list[Node]:
    found: dict[Node, None] = {}
    stack = [t.grad_fn for t in flatten(results) if is_tensor(t) and t.grad_fn is not None]
    while stack:
        node = stack.pop()
        if isinstance(node, Node) and node not in found:
            found[node] = None
            stack += [edge for edge in node.edges if edge is not None]
    return list(found)


def gradient_for(node: Node, generator: np.random.Generator, odd: bool) -> Any:
    """A gradient of the node's output; `odd` ones do not lie row by row in memory."""

    def one(shape: Any, dtype: Any) -> Any:
        array = np.asarray(generator.uniform(-1, 1, shape[::-1] if odd else shape)).astype(dtype)
        return np.asarray(array.T if odd else array)

    if isinstance(node.shape, list):
        return [one(s, d) for s, d in zip(node.shape, node.dtype, strict=True)]
    return one(node.shape, node.dtype)


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", CASES)
def test_every_op(name: str) -> None:
    checked = 0
    for sample in CASES[name]:
        for dtype in set(sample.dtypes).intersection(DTYPES):
            args, kwargs, _ = build(sample, retrograd, dtype, False, True)
            try:
                results = function_of(name, retrograd)(*args, **kwargs)
            except Exception:
                continue  # bad arguments: compared with PyTorch elsewhere
            for node in nodes_behind(results):
                if type(node.run) is Run:
                    check_node(node, f"{sample} {dtype}")
                    checked += 1
    if not checked:
        pytest.skip("no sample whose rule is compiled")


def check_node(node: Node, told: str) -> None:
    generator = np.random.default_rng(3)
    for need in (None, {edge for edge in node.edges[:1] if edge is not None}):
        for odd in (False, True):
            gradient = gradient_for(node, generator, odd)
            with np.errstate(all="ignore"), switched(True):
                compiled = outcome(node.run, node, gradient, need, None)
            with np.errstate(all="ignore"), switched(False):
                python = outcome(node.run.fallback, node, gradient, need, None)
            assert same(compiled, python), (node.name(), told, need is None, odd)


def test_the_common_ops_have_compiled_rules() -> None:
    """A declaration whose saved names change must not lose its compiled rule unseen."""
    names = [
        *("mul", "add", "sub", "rsub", "div", "neg", "clone", "tanh", "sigmoid", "relu", "exp"),
        *("log", "sqrt", "leaky_relu", "addcmul", "_pow_number", "mse_loss", "_sum_all"),
        *("_mean_all", "log_softmax", "t", "transpose", "view", "_unsafe_view", "select"),
        *("stack", "mm", "addmm", "alias", "_reshape_alias", "sum_to_size", "_split"),
        *(
            "_unsafe_split",
            "dot",
            "_clone_as",
            "_contiguous_copy",
            "abs",
            "reciprocal",
            "sin",
            "cos",
        ),
        *(
            "clamp",
            "_choose",
            "masked_fill",
            "permute",
            "unsqueeze",
            "_squeeze_dim",
            "slice",
            "cat",
        ),
        *("unbind", "gather", "sum", "mean", "expand", "max", "min", "softmax", "logsumexp"),
        "_nll_loss",
    ]
    assert [name for name in names if not OPS[name].run.has_compiled_rule] == []


@pytest.mark.parametrize("size", [4096, 4097, 70_000])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "relu", "exp", "log", "sqrt", "neg"])
def test_large_arrays(name: str, size: int) -> None:
    values = np.linspace(0.01, 3.0, size, dtype=np.float32)
    x = retrograd.from_numpy(values).requires_grad_()
    node = getattr(retrograd, name)(x).grad_fn
    gradient = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    assert same(node.run(node, gradient, None, None), node.run.fallback(node, gradient, None, None))


# ------------------------------------------------------------------------------- whole programs


def shaped(x: Any, chance: random.Random) -> Any:
    """One op that changes the shape of a matrix or cube, or picks from it; its result has rows."""
    rows = x.shape[0]
    index = retrograd.tensor([[chance.randrange(x.shape[-1])] for _ in range(rows)])
    ways: list[Callable[[], Any]] = [
        lambda: x.unsqueeze(chance.choice([0, 1, -1])).squeeze(chance.choice([0, 1, -1])),
        lambda: retrograd.cat([x, x * 2, x[:1]], 0),
        lambda: retrograd.cat([x, x.exp()], -1),
        lambda: retrograd.stack([x, x.abs()], chance.choice([0, 1, -1])).sum(-1),
        lambda: x[chance.randrange(rows) :] + 1,
        lambda: x[:, :: chance.choice([1, 2])],
        lambda: x.permute(*chance.sample(range(x.ndim), x.ndim)).contiguous(),
        lambda: retrograd.stack(x.unbind(0)[:: chance.choice([1, -1])]),
        lambda: x.unbind(-1)[0].unsqueeze(1) * 3,
        lambda: x.flatten(1).gather(1, index),
        lambda: x.sum(chance.choice([0, -1, (0, 1)]), keepdim=True) * x,
        lambda: x.mean(chance.choice([0, (0, 1)]), keepdim=x.ndim == 2) + x,
        lambda: x.mean(0) + x.mean(-1, keepdim=True),
        lambda: x * x.max(-1, keepdim=True).values,
        lambda: x - x.min(0).values,
        lambda: retrograd.softmax(x, chance.choice([-1, 0])),
        lambda: x - x.logsumexp(chance.choice([-1, 0]), keepdim=True),
        lambda: retrograd.where(x > 0, x, x * 0.1),
        lambda: retrograd.where(x[0] > 0, x, 0.5),
        lambda: x.masked_fill(x > 0.5, 0.25),
        lambda: x.clamp(*chance.choice([(-0.5, 0.5), (None, 0.3), (-1, None)])),
        lambda: x ** chance.choice([1, 2, 3, 4]),
        lambda: (x.abs() + 0.1) ** chance.choice([0.5, -1, 1.5]),
        lambda: x.sin() * x.cos() + (x.abs() + 1).reciprocal(),
        lambda: x[:, :1].expand(*x.shape) + x,
        lambda: x.t().clone() if x.ndim == 2 else x.transpose(0, 1),
        lambda: retrograd.cat(x.split(1, dim=0)[::-1], 0),
    ]
    found = chance.choice(ways)()
    return found if found.ndim > 1 else found.reshape(-1, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed: int, dtype: str) -> None:
    def program() -> Any:
        chance = random.Random(seed)
        values = np.random.default_rng(seed).uniform(-1.5, 1.5, (3, 4) if seed % 2 else (2, 3, 4))
        x = retrograd.from_numpy(values.astype(dtype)).requires_grad_()
        y = x
        for _ in range(chance.randrange(2, 9)):
            y = shaped(y, chance)
        loss = (y * y).mean()
        if y.ndim == 2:
            targets = retrograd.tensor([chance.randrange(y.shape[1]) for _ in range(y.shape[0])])
            reduction = chance.choice(["mean", "sum"])
            loss = loss + retrograd.nn.functional.cross_entropy(y, targets, reduction=reduction)
        if chance.random() < 0.3:
            (slope,) = retrograd.autograd.grad(loss, x, create_graph=True)
            loss = loss + (slope * slope).sum()
        loss.backward()
        return array(x.grad)

    compiled, python = on_both(program)
    assert same(compiled, python)


def test_special_numbers() -> None:
    values = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1e-45, 3e38]
    x = retrograd.tensor(values, requires_grad=True)
    y = retrograd.tensor(values[::-1], requires_grad=True)
    gradient = np.array([1.0, -0.0, 0.0, float("inf"), 1.0, float("nan"), -2.0], np.float32)
    made = [x * y, x / y, x - y, x.relu(), x.tanh(), x.exp(), x.sqrt(), x**2, x.sigmoid()]
    made += [x.abs(), x**3, x**0.5, x.reciprocal(), x.sin(), x.cos(), x.clamp(-1, 1), x.clamp(0)]
    made += [retrograd.where(x > 0, x, y), x.masked_fill(y > 0, 1.0), retrograd.softmax(x, 0)]
    for result in made:
        node = result.grad_fn
        with np.errstate(all="ignore"):
            compiled = node.run(node, gradient, None, None)
            python = node.run.fallback(node, gradient, None, None)
        for ours, theirs in zip(compiled, python, strict=True):
            np.testing.assert_array_equal(ours, theirs)
            known = ~np.isnan(theirs)  # which of two nans survives is open, in NumPy too
            assert (np.signbit(ours) == np.signbit(theirs))[known].all()


def test_values_are_released_and_marked_as_python_does() -> None:
    def freed(on: bool) -> Any:
        x = retrograd.tensor([1.0, 2.0], requires_grad=True)
        node = (x * 3.0).exp().grad_fn
        with switched(on):
            node.run(node, np.ones(2, np.float32), None, "the call")
        return node.freed, repr(node.saved[0]), [type(v).__name__ for v in node.saved]

    assert freed(True) == freed(False) == ("the call", "<freed>", ["Freed", "VersionCell", "int"])
