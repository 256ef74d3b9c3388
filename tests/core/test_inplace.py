"""Ops in place in C and in Python: the same values, versions, writers, histories and errors."""

import gc
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import core
from retrograd.tensor import Tensor
from tests.core.facts import assert_same, in_python, tensor_facts

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")

# ------------------------------------------------------------------------------ random programs

WRITES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add_": lambda x, y, n: x.add_(y),
    "sub_": lambda x, y, n: x.sub_(y),
    "mul_": lambda x, y, n: x.mul_(y),
    "div_": lambda x, y, n: x.div_(y),
    "add_ alpha": lambda x, y, n: x.add_(y, alpha=n),
    "sub_ alpha": lambda x, y, n: x.sub_(y, alpha=n),
    "add_ number": lambda x, y, n: x.add_(n),
    "mul_ number": lambda x, y, n: x.mul_(n),
    "itself": lambda x, y, n: x.mul_(x),
    "+=": lambda x, y, n: x.__iadd__(y),
    "-=": lambda x, y, n: x.__isub__(y),
    "*=": lambda x, y, n: x.__imul__(n),
    "/=": lambda x, y, n: x.__itruediv__(n),
    "exp_": lambda x, y, n: x.exp_(),
    "tanh_": lambda x, y, n: x.tanh_(),
    "relu_": lambda x, y, n: x.relu_(),
    "neg_": lambda x, y, n: x.neg_(),
    "sigmoid_": lambda x, y, n: x.sigmoid_(),
    "sqrt_": lambda x, y, n: x.sqrt_(),
    "floor_": lambda x, y, n: x.floor_(),
    "clamp_": lambda x, y, n: x.clamp_(-1, n),
    "pow_": lambda x, y, n: x.pow_(n),
    "addcmul_": lambda x, y, n: x.addcmul_(y, y, value=n),
    "addcdiv_": lambda x, y, n: x.addcdiv_(y, x.detach(), value=n),
    "lerp_": lambda x, y, n: x.lerp_(y, 0.25),
    "zero_": lambda x, y, n: x.zero_(),
    "fill_": lambda x, y, n: x.fill_(n),
    "fill_ tensor": lambda x, y, n: x.fill_(y.sum()),
    "copy_": lambda x, y, n: x.copy_(y),
    "copy_ number": lambda x, y, n: x.copy_(n),
    "masked_fill_": lambda x, y, n: x.masked_fill_(x > 0.5, n),
    "t": lambda x, y, n: x.t(),
    "row": lambda x, y, n: x[0],
    "part": lambda x, y, n: x[1:],
    "product": lambda x, y, n: x * y,
    "detach": lambda x, y, n: x.detach(),
    "data": lambda x, y, n: x.data,
}
NUMBERS = (2.0, -0.5, 3, 1, 1.0, 0, True, 1e300, float("inf"), float("nan"), 2**60, 1j, None)


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    return [
        (
            draw(st.sampled_from(sorted(WRITES))),
            draw(st.integers(0, 12)),
            draw(st.integers(0, 12)),
            draw(st.sampled_from(NUMBERS)),
            draw(st.sampled_from((True, True, False))),
        )
        for _ in range(draw(st.integers(1, 7)))
    ]


def starting_values(dtype: Any) -> list[Tensor]:
    base = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.125, 1.5]], dtype=dtype)
    leaf = base.clone().requires_grad_()
    cut = (leaf * 2.0).detach()
    hooked = leaf * 3.0
    hooked.retain_grad()
    values = [base, leaf, torch.nn.Parameter(base[:, 0].clone()), leaf * 2.0, leaf.clone().t()]
    values += [base[1], (leaf * 1.5)[:2], cut, hooked, base.clone(), torch.ones(3, 3, dtype=dtype)]
    return [*values, base.clone()[0].expand(3, 3), torch.tensor(0.5, dtype=dtype)]


def run_program(steps: list[tuple[Any, ...]], dtype: Any) -> Any:
    values, facts = starting_values(dtype), []
    for name, first, second, number, enabled in steps:
        x, y = values[first % len(values)], values[second % len(values)]
        try:
            with torch.set_grad_enabled(enabled):
                result = WRITES[name](x, y, number)
        except Exception as error:
            facts.append((type(error).__name__, str(error)))
            continue
        facts.append((result is x, tensor_facts(result, 2), tensor_facts(y, 2)))
        values.append(result)
    facts.append([tensor_facts(value, 1) for value in values])
    try:
        sum(value.double().sum() for value in values if value.requires_grad).backward()
    except Exception as error:
        facts.append((type(error).__name__, str(error)))
    facts.append([tensor_facts(v.grad) for v in values[1:3] if v.grad is not None])
    return facts


@settings(max_examples=200, deadline=None)
@given(programs(), st.sampled_from((torch.float32, torch.float64)))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(steps: list[tuple[Any, ...]], dtype: Any) -> None:
    assert run_program(steps, dtype) == in_python(lambda: run_program(steps, dtype))


# ----------------------------------------------------------------------------------- single calls


def x() -> Tensor:
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def read_only() -> Tensor:
    array = np.ones(3, np.float32)
    array.flags.writeable = False
    tensor = torch.ones(1)
    tensor._array = array
    return tensor


@pytest.mark.parametrize(
    "call",
    [
        lambda: x().add_(),
        lambda: x().add_(1, 2),
        lambda: x().add_(x(), alpha="a"),
        lambda: x().add_(x(), out=x()),
        lambda: x().add_(torch.ones(3)),
        lambda: x().add_(torch.ones(2, 2, 2)),
        lambda: torch.ones(2).add_(x()),
        lambda: x().add_(x().double()),
        lambda: x().add_(torch.arange(2)),
        lambda: torch.arange(2).add_(1.5),
        lambda: torch.arange(2).mul_(3),
        lambda: x().half().add_(1.0),
        lambda: x().mul_("a"),
        lambda: x().__iadd__("a"),
        lambda: x().requires_grad_().add_(1.0),
        lambda: x().requires_grad_()[0].add_(1.0),
        lambda: (x().requires_grad_() * 1.0)[0].mul_(2.0),
        lambda: x().add_(x().requires_grad_()),
        lambda: x()[0].add_(x().requires_grad_()[0]),
        lambda: x()[0].expand(2, 2).add_(1.0),
        lambda: read_only().add_(1.0),
        lambda: read_only().zero_(),
        lambda: read_only().fill_(2.0),
        lambda: read_only().copy_(torch.ones(3)),
        lambda: torch.ones(0).add_(1.0),
        lambda: torch.ones(20000).add_(torch.ones(20000)).exp_(),
        lambda: torch.ones(20000).mul_(torch.ones(3)),
        lambda: (torch.ones(20000, requires_grad=True) * 2).exp_(),
        lambda: x().t().mul_(x()),
        lambda: x().fill_("a"),
        lambda: x().fill_(x()),
        lambda: x().fill_(1e300),
        lambda: torch.arange(3).fill_(1.5),
        lambda: torch.arange(3).fill_(2**70),
        lambda: torch.arange(3).zero_(),
        lambda: x().copy_("a"),
        lambda: x().copy_(torch.ones(3)),
        lambda: x().copy_(torch.arange(2)),
        lambda: x().copy_(torch.ones(2), non_blocking=True),
        lambda: x().copy_(torch.ones(2, dtype=torch.complex64)),
        lambda: x().copy_(x().requires_grad_()),
        lambda: torch.ones(2, dtype=torch.int64).copy_(torch.tensor([1.5, 2.5])),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_calls(call: Callable[[], Any]) -> None:
    assert_same(call)


def test_overlapping_memory() -> None:
    def shifted() -> Tensor:
        base = torch.arange(6.0)
        base[1:].add_(base[:-1])
        return base

    def shared() -> Tensor:
        array = np.arange(6.0, dtype=np.float32)
        left, right = torch.from_numpy(array[1:]), torch.from_numpy(array[:-1])
        left.add_(right)  # two storages for PyTorch: it cannot know
        left.copy_(right)
        return left

    assert_same(shifted)
    assert_same(shared)


def test_inference() -> None:
    with torch.inference_mode():
        inferred = torch.ones(2)
    assert_same(lambda: inferred.add_(1.0))

    def inside() -> Tensor:
        with torch.inference_mode():
            return torch.ones(2).add_(1.0).zero_()

    assert_same(inside)


def test_a_long_lived_view() -> None:
    def program() -> Any:
        base = torch.zeros(4)
        view, other = base[:2], base.view(2, 2)
        for _ in range(3):
            base.add_(1.0)
            view.mul_(2.0)
            other.sub_(view)
        return base, view * 2.0, other.t()

    assert_same(program)


def test_a_geometry_that_changed() -> None:
    def program() -> Any:
        base = torch.arange(6.0).reshape(2, 3).clone()
        view = base[0]
        base.t_()
        base.add_(1.0)
        return view.mul_(2.0), base, view * 1.0

    assert_same(program)


def test_saved_for_a_later_backward() -> None:
    def program() -> Any:
        leaf = torch.ones(3, requires_grad=True)
        with torch.autograd.graph.allow_mutation_on_saved_tensors():
            y = leaf.clone()
            total = (y * y).sum()
            y.zero_()
            total.backward()
        return leaf.grad

    assert_same(program)


# ------------------------------------------------------------------------------------------ memory


def test_nothing_leaks() -> None:
    a, b, leaf = torch.ones(3), torch.ones(3), torch.ones(3, requires_grad=True)
    writer = Tensor.add_.__name__

    def work() -> None:
        a.add_(b).mul_(0.5).add_(b, alpha=-0.1).zero_().fill_(1.0).copy_(b)
        a.sub_(1)
        graph = leaf * 2.0
        graph.mul_(b).exp_().add_(leaf).mul_(graph.detach().clone())
        with torch.no_grad():
            leaf.sub_(0.1 * b)
            a.copy_(leaf)
        for bad in (lambda: a.add_(torch.ones(2)), lambda: leaf.add_(1.0), lambda: a.add_("x")):
            try:
                bad()
            except (RuntimeError, TypeError):
                pass

    def counts() -> list[int]:
        things = (a, b, leaf, a._array, b._array, leaf._array, a._array.dtype, writer)
        return [sys.getrefcount(thing) for thing in things]

    for _ in range(50):
        work()
    gc.collect()
    before, objects = counts(), len(gc.get_objects())
    for _ in range(500):
        work()
    gc.collect()
    assert counts() == before
    assert abs(len(gc.get_objects()) - objects) < 50
