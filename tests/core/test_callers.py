"""Calls of ops in C and in Python: the same values, nodes, versions, sites and errors."""

import copy
import gc
import inspect
import pickle
import sys
import threading
import types
import weakref
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import core
from retrograd.engine.state import HOT
from retrograd.ops.registry import OPS
from retrograd.tensor import Tensor
from tests.core.facts import assert_same, in_python, outcome, tensor_facts
from tests.ops.compare import build, cases, function_of

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")


# -------------------------------------------------------------------------- random programs

RANDOM = ("dropout", "bernoulli", "rrelu", "gumbel_softmax", "multinomial", "poisson")
UNARY = ("exp", "tanh", "relu", "neg", "sin", "abs", "sigmoid", "sqrt", "square", "t", "clone")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "mm", "matmul", "atan2", "lt")
REDUCED = ("sum", "mean", "amax", "log_softmax", "cumsum", "unbind", "max", "logsumexp")


@st.composite
def programs(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    steps: list[tuple[Any, ...]] = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from(("unary", "binary", "number", "reduced", "index", "write")))
        first, second = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        number = draw(st.sampled_from((2.0, -0.5, 3, 0, True, 1e300)))
        name = draw(st.sampled_from({"unary": UNARY, "reduced": REDUCED}.get(kind, BINARY)))
        steps.append((kind, name, first, second, number, draw(st.booleans())))
    return steps


def starting_values(dtype: Any) -> list[Tensor]:
    base = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [2.0, 0.125, 1.5]], dtype=dtype)
    leaf = base.clone().requires_grad_()
    weight = torch.nn.Parameter(base[:, 0].clone())
    return [base, leaf, weight, leaf * 2.0, leaf.t(), base[1], leaf[:2]]


def run_step(step: tuple[Any, ...], values: list[Tensor]) -> Any:
    kind, name, first, second, number, quiet = step
    x, y = values[first % len(values)], values[second % len(values)]
    with torch.set_grad_enabled(not quiet):
        if kind == "unary":
            return getattr(torch, name)(x)
        if kind == "binary":
            return getattr(torch, name)(x, y)
        if kind == "number":
            return (x * number, number - x, x + number, x / number)[second % 4]
        if kind == "reduced":
            reduce = getattr(torch, name)
            return reduce(x) if name in ("sum", "mean") and second % 2 else reduce(x, dim=-1)
        if kind == "index":
            return x[(0, slice(1, None), slice(None, None, 2), -1, (slice(None), 1))[second % 5]]
        x.mul_(y) if second % 2 else x.add_(number)
        return x


def run_program(steps: list[tuple[Any, ...]], dtype: Any) -> Any:
    values, facts = starting_values(dtype), []
    for step in steps:
        try:
            result = run_step(step, values)
        except Exception as error:
            facts.append((type(error).__name__, str(error)))
            continue
        facts.append(tensor_facts(result, 2))
        values += result if isinstance(result, tuple) else (result,)
    try:
        sum(value.double().sum() for value in values if value.requires_grad).backward()
    except Exception as error:
        facts.append((type(error).__name__, str(error)))
    facts.append([tensor_facts(v.grad) for v in values[1:3] if v.grad is not None])
    return facts


@settings(max_examples=150, deadline=None)
@given(programs(), st.sampled_from((torch.float32, torch.float64)))
@pytest.mark.filterwarnings("ignore")
def test_random_programs(steps: list[tuple[Any, ...]], dtype: Any) -> None:
    assert run_program(steps, dtype) == in_python(lambda: run_program(steps, dtype))


@pytest.mark.filterwarnings("ignore")
def test_the_samples_of_every_op() -> None:
    """Up to four of each: those that differ most come first."""
    seen: Counter[str] = Counter()
    for name, sample in cases():
        if seen[name] == 4 or name.rpartition(".")[2] in RANDOM:
            continue
        seen[name] += 1
        for dtype in ("float32", "float64"):

            def run(name: str = name, sample: Any = sample, dtype: str = dtype) -> Any:
                args, options, _ = build(sample, torch, dtype, False, sample.grad)
                return function_of(name, torch)(*args, **options)

            assert_same(run)
    assert len(seen) > 400


# ---------------------------------------------------------------------------------- arguments


def x() -> Tensor:
    return torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.mul(x()),
        lambda: torch.mul(x(), x(), x()),
        lambda: torch.mul(x(), other=x()),
        lambda: torch.mul(input=x(), other=2),
        lambda: torch.mul(x(), other=2, wrong=1),
        lambda: torch.mul(x(), 2, out=None),
        lambda: torch.mul(x(), 2, other=3),
        lambda: torch.mul(2, x()),
        lambda: torch.mul("a", x()),
        lambda: torch.mul(x(), None),
        lambda: torch.mul(x(), 10**400),
        lambda: torch.mul(x(), True),
        lambda: torch.mul(x(), np.float64(2)),
        lambda: torch.mul(x(), torch.ones(3)),
        lambda: x() * "a",
        lambda: "a" * x(),
        lambda: x() * [1.0],
        lambda: x().__mul__(other=2),
        lambda: x() @ torch.ones(3, 3),
        lambda: x() @ 2,
        lambda: torch.add(x(), x(), alpha=2),
        lambda: torch.add(x(), 2, x()),
        lambda: torch.cumsum(x()),
        lambda: torch.cumsum(x(), axis=1),
        lambda: torch.cumsum(x(), dim=0, axis=1),
        lambda: torch.cumsum(x(), **{"".join(["d", "im"]): 1}),
        lambda: torch.amax(x(), 0, keepdims=True),
        lambda: torch.relu(),
        lambda: x()[5],
        lambda: x()[2**70],
        lambda: x()[::-1],
        lambda: x()["a"],
        lambda: x()[1:100:2],
        lambda: torch.tensor(1.0)[0],
        lambda: torch.tensor(1.0)[:],
        lambda: torch.addmm(torch.ones(3), x(), x()),
        lambda: torch.addmm(torch.ones(2, 2, 2), x(), x()),
        lambda: torch.addmm(torch.ones(2), x(), x(), beta=1.0, alpha=1),
        lambda: torch.nn.functional.linear(x(), torch.ones(3, 2), torch.ones(3)),
        lambda: torch.nn.functional.linear(x(), torch.ones(3, 5), torch.ones(3)),
        lambda: torch.nn.functional.linear(x(), torch.ones(3, 2)),
        lambda: torch.t(torch.ones(2, 2, 2)),
        lambda: torch.exp(torch.ones(2, 3).t()),
        lambda: torch.exp(torch.ones(4)[::2]),
        lambda: torch.exp(torch.ones(2, dtype=torch.complex64)),
        lambda: torch.exp(torch.ones(2, dtype=torch.float16)),
        lambda: torch.exp(torch.arange(3)),
        lambda: torch.exp(torch.ones(0)),
        lambda: torch.exp(torch.tensor(0.3)),
        lambda: torch.log(torch.tensor([0.0, -1.0])),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_arguments(call: Callable[[], Any]) -> None:
    assert_same(call)


class Subclass(Tensor):
    pass


def test_odd_operands() -> None:
    plain = torch.ones(2)
    gone = torch.ones(2)
    del gone._array
    for operand in (torch.ones(2).as_subclass(Subclass), torch.nn.Buffer(torch.ones(2)), gone):
        for call in (lambda o=operand: o * plain, lambda o=operand: plain * o):
            assert outcome(call) == in_python(lambda call=call: outcome(call))
    with torch.inference_mode():
        inferred = torch.ones(2)
    assert_same(lambda: inferred * plain)
    assert_same(lambda: torch.ones(2, requires_grad=True) * inferred)


def test_a_view_whose_base_was_written() -> None:
    def program() -> Tensor:
        base = x() * 1.0
        view = base[0]
        base.mul_(3.0)
        return view * 2.0 + base.t()[1]

    assert_same(program)


def test_a_view_made_without_recording() -> None:
    def program(op: Any) -> Callable[[], Any]:
        def run() -> Any:
            base = x()
            with torch.no_grad():
                view = base[0]
            return op(view)

        return run

    for op in (lambda v: v * v, lambda v: v.t(), torch.exp, lambda v: v + 1.0):
        assert_same(program(op))


def test_modes() -> None:
    for mode in (torch.no_grad, torch.enable_grad, torch.inference_mode):

        def program(mode: Any = mode) -> Any:
            with mode():
                return x() * 2.0, x()[0].exp(), x() < 2.0

        assert_same(program)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert_same(lambda: torch.nn.functional.linear(x(), x(), torch.ones(2)) @ x())


# ------------------------------------------------------------------------ what a caller is like


def test_it_looks_like_a_function() -> None:
    for function in (torch.mul, Tensor.exp, Tensor.__mul__):
        assert isinstance(function, types.FunctionType)
        assert inspect.isroutine(function) and callable(function)
        assert function.__name__ and function.__qualname__ and function.__module__
        assert repr(function).startswith("<function ")
        assert weakref.ref(function)() is function
        assert copy.deepcopy(function) is function
    assert torch.exp.__doc__ and "input" in inspect.signature(torch.mul).parameters
    assert pickle.loads(pickle.dumps(torch.exp)) is torch.exp
    assert "self" not in str(inspect.signature(x().exp))
    with pytest.raises(AttributeError, match="missing"):
        _ = torch.exp.missing


def test_attributes_are_those_of_the_python_function() -> None:
    function: Any = torch.exp
    function.mark = 3
    try:
        assert core.python_function(function).mark == function.mark == 3
        assert function.__dict__["mark"] == 3
    finally:
        del function.mark
    assert not hasattr(function, "mark")


def test_only_for_python_functions() -> None:
    with pytest.raises(TypeError, match="stands for a Python function"):
        core._core.Caller(len, None)


# ------------------------------------------------------------------- memory, threads, interrupts


def test_nothing_leaks() -> None:
    a, b = torch.ones(3, requires_grad=True), torch.ones(3)
    m, w, bias = torch.ones(2, 3), torch.ones(4, 3, requires_grad=True), torch.ones(4)

    def work() -> None:
        a * b, a * 2.0, a.exp(), a.sum(), a.mean(), a[1], a[0:2], a.relu(), -a, b * b
        (a * b).tanh() + a
        torch.nn.functional.linear(m, w, bias) @ m.t().new_ones(4, 2)
        with torch.no_grad():
            a * b
        for bad in (lambda: a * torch.ones(2), lambda: torch.mul(a), lambda: a * "x"):
            try:
                bad()
            except (RuntimeError, TypeError):
                pass

    def counts() -> list[int]:
        arrays = [t._array for t in (a, b, m, w, bias)]
        shared = [None, True, False, 0, a._array.dtype, OPS["mul"], core.python_function(torch.mul)]
        return [sys.getrefcount(thing) for thing in (a, b, w, *arrays, *shared[5:])]

    for _ in range(50):
        work()
    gc.collect()
    before, objects = counts(), len(gc.get_objects())
    for _ in range(500):
        work()
    gc.collect()
    assert counts() == before
    assert abs(len(gc.get_objects()) - objects) < 50


def test_cycles_through_tensors_are_collected() -> None:
    class Mark:
        pass

    leaf: Any = torch.ones(3, requires_grad=True)
    mark = Mark()
    gone = weakref.ref(mark)
    leaf.mark = mark
    leaf.result = leaf * leaf  # whose node saved the leaf
    view: Any = leaf[1]
    leaf.view = view
    del leaf, view, mark
    gc.collect()
    assert gone() is None


def test_threads() -> None:
    a = torch.ones(3, requires_grad=True)
    errors: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            for turn in range(300):
                with torch.set_grad_enabled(turn % 3 != seed % 3):
                    result = (a * float(seed)).exp()
                assert result.requires_grad == (turn % 3 != seed % 3)
                a.data = torch.ones(3) * 1.0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_an_interrupt_inside_of_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for an error of the kernel: the call is not done again."""
    calls = []

    def kernel(xp: Any, input: Any) -> Any:
        calls.append(input)
        raise KeyboardInterrupt

    monkeypatch.setitem(HOT, "forward_erf", kernel)
    caller = core.caller(core.python_function(OPS["erf"].function), OPS["erf"])
    with pytest.raises(KeyboardInterrupt):
        caller(torch.ones(2))
    assert len(calls) == 1


def test_an_error_of_a_kernel_is_explained_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(xp: Any, input: Any) -> Any:
        raise ValueError("no such thing")

    monkeypatch.setitem(HOT, "forward_erf", kernel)
    caller = core.caller(core.python_function(OPS["erf"].function), OPS["erf"])
    with pytest.raises(ValueError, match="no such thing") as raised:
        caller(torch.ones(2))
    assert any("<retrograd op erf>" in str(entry.path) for entry in raised.traceback)
