"""Random programs with custom Functions, views, writes and backward calls, on both libraries.

The Functions are drawn too: what they return (a new tensor, an input, a view, an input changed in
place, several outputs), what they save and read, and which flags they set. After every step all
that can be seen of every tensor is compared with real PyTorch.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any, NamedTuple

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.autograd.pairs import Pair, numbers

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

FORMS = (
    "product",
    "same",
    "row",
    "transposed",
    "view of a temporary",
    "written",
    "written, not marked",
    "both inputs",
    "product and sum",
    "product and row",
    "product and constant",
    "product and count",
    "written and product",
)
SAVES = ("nothing", "inputs", "output", "middle", "everything")


class Spec(NamedTuple):
    """A custom Function in words."""

    form: str
    saves: str
    reads: bool  # whether backward looks at the saved tensors
    materialize: bool
    separate: bool  # setup_context
    once: bool  # once_differentiable
    pure: bool  # _is_pure_view; the second tensor is then hidden in a list


specs = st.builds(
    Spec,
    form=st.sampled_from(FORMS),
    saves=st.sampled_from(SAVES),
    reads=st.booleans(),
    materialize=st.booleans(),
    separate=st.integers(0, 3).map(lambda n: n == 0),
    once=st.integers(0, 5).map(lambda n: n == 0),
    pure=st.integers(0, 4).map(lambda n: n == 0),
)


def compute(form: str, x: Any, y: Any) -> Any:
    if form == "same":
        return x
    if form == "row":
        return x[:1]
    if form == "transposed":
        return x.t()
    if form == "view of a temporary":
        return (x * y).contiguous().view(-1)
    if form.startswith("written"):
        x.mul_(2)
        return (x, x * y) if form == "written and product" else x
    if form == "both inputs":
        return x, y
    if form == "product and sum":
        return x * y, x.sum() + y.sum()
    if form == "product and row":
        return x * y, y[:1]
    if form == "product and constant":
        return x * y, x + 1
    if form == "product and count":
        return x * y, 4
    return x * y


def prepare(ctx: Any, spec: Spec, x: Any, y: Any, out: Any, middle: Any) -> None:
    outputs = out if isinstance(out, tuple) else (out,)
    ctx.spec, ctx.given = spec, (x.detach().clone(), y.detach().clone())
    if not spec.materialize:
        ctx.set_materialize_grads(False)
    if spec.pure:
        ctx._is_pure_view = True
    if spec.form in ("written", "written and product"):
        ctx.mark_dirty(x)
    if spec.form == "product and constant":
        ctx.mark_non_differentiable(out[1])
    tensors = {
        "nothing": (),
        "inputs": (x, y),
        "output": (outputs[0], None),
        "middle": (middle,),
        "everything": (x, middle, y, outputs[0]),
    }
    if spec.saves != "nothing":
        ctx.save_for_backward(*tensors[spec.saves])


def differentiate(ctx: Any, gradients: tuple[Any, ...]) -> tuple[Any, Any]:
    x, y = ctx.given
    factor = 1.0
    if ctx.spec.reads:
        for saved in ctx.saved_tensors:
            if saved is not None:
                factor = factor + saved.sum() * 0.25
    total = None
    for gradient in gradients:
        if gradient is not None:
            total = gradient.sum() if total is None else total + gradient.sum()
    if total is None:
        return None, None
    return x * total * factor, y * total * factor * 0.5


@functools.cache
def function(lib: Any, spec: Spec) -> Any:
    """The Function of a spec in one library."""
    mark = lib.autograd.function.once_differentiable if spec.once else (lambda method: method)

    class Drawn(lib.autograd.Function):
        @staticmethod
        @mark
        def backward(ctx, *gradients):
            first, second = differentiate(ctx, gradients)
            return first, None if spec.pure else second

    class Combined(Drawn):
        @staticmethod
        def forward(ctx, x, y):
            y = y[0] if spec.pure else y
            out = compute(spec.form, x, y)
            prepare(ctx, spec, x, y, out, x + y)
            return out

    class Separate(Drawn):
        @staticmethod
        def forward(x, y):
            return compute(spec.form, x, y[0] if spec.pure else y)

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, y = inputs
            prepare(ctx, spec, x, y[0] if spec.pure else y, output, None)

    return Separate if spec.separate else Combined


WRITES = ("mul_", "exp_", "zero_")
VIEWS: dict[str, Any] = {
    "row": lambda x: x[:1],
    "flat": lambda x: x.view(-1),
    "unbind": lambda x: x.unbind()[0],
    "detach": lambda x: x.detach(),
    "clone": lambda x: x.clone(),
}

which = st.integers(0, 9)
flag = st.booleans()


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(torch)

    def pick(self, number: int) -> int:
        return number % len(self.pair)

    @initialize()
    def leaves(self) -> None:
        self.pair.leaf([[0.5, -0.25], [0.125, 0.75]], True)
        self.pair.leaf([[0.3, 0.7], [-0.4, 0.9]], False)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            return ts[0] * 2

        self.pair.step("x0 * 2", act)

    @rule(a=which, b=which, spec=specs, quiet=which, second=flag)
    def apply(self, a: int, b: int, spec: Spec, quiet: int, second: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            if ts[i].numel() * ts[j].numel() > 64:
                return None
            # PyTorch refuses writes to a pure view that was made without recording, for no reason
            calm = quiet == 0 and not spec.pure
            with library.no_grad() if calm else contextlib.nullcontext():
                other = [ts[j]] if spec.pure else ts[j]
                out = function(library, spec).apply(ts[i], other)
            outs = out if isinstance(out, tuple) else (out,)
            log.append([value is ts[i] for value in outs])
            chosen = outs[-1] if second else outs[0]
            known = isinstance(chosen, int) or any(chosen is tensor for tensor in ts)
            return None if known else chosen

        self.pair.step(f"{spec} of x{i}, x{j} quiet={quiet == 0} second={second}", act)

    @rule(a=which, b=which)
    def multiply(self, a: int, b: int) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            return None if ts[i].numel() * ts[j].numel() > 64 else ts[i] * ts[j]

        self.pair.step(f"x{i} * x{j}", act)

    @rule(a=which, name=st.sampled_from(sorted(VIEWS)), quiet=which)
    def view(self, a: int, name: str, quiet: int) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            with library.no_grad() if quiet == 0 else contextlib.nullcontext():
                return VIEWS[name](ts[i])

        self.pair.step(f"{name} of x{i} quiet={quiet == 0}", act)

    @rule(a=which, b=which, name=st.sampled_from(WRITES), quiet=which)
    def write(self, a: int, b: int, name: str, quiet: int) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            with library.no_grad() if quiet < 3 else contextlib.nullcontext():
                getattr(ts[i], name)(*([ts[j]] if name == "mul_" else []))

        self.pair.step(f"x{i}.{name}(x{j}) quiet={quiet < 3}", act)

    @rule(a=which)
    def look(self, a: int) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            node = ts[i].grad_fn
            if node is not None and hasattr(node, "spec"):
                log.append([numbers(t) for t in node.saved_tensors])

        self.pair.step(f"saved tensors of x{i}", act)

    @rule(a=which)
    def hook(self, a: int) -> None:
        i = self.pick(a)
        number = len(self.pair.steps)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            if ts[i].grad_fn is not None:
                ts[i].retain_grad()
                ts[i].grad_fn.register_hook(
                    lambda ins, outs: log.append(
                        (number, [numbers(g) for g in ins], [numbers(g) for g in outs])
                    )
                )

        self.pair.step(f"hook {number} on x{i}", act)

    @rule(a=which, keep=flag)
    def backward(self, a: int, keep: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i].sum().backward(retain_graph=keep)

        self.pair.step(f"x{i}.sum().backward(retain_graph={keep})", act)

    @rule(a=which, b=which, keep=flag)
    def gradient(self, a: int, b: int, keep: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            found = library.autograd.grad(
                (ts[i] * ts[i]).sum(), [ts[j]], retain_graph=keep, allow_unused=True
            )
            log.append([numbers(g) for g in found])

        self.pair.step(f"grad(x{i} ** 2, x{j}, retain_graph={keep})", act)

    @rule(a=which, b=which)
    def second_order(self, a: int, b: int) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            (first,) = library.autograd.grad(
                (ts[i] * ts[i]).sum(), [ts[j]], create_graph=True, allow_unused=True
            )
            log.append(numbers(first))
            if first is not None and first.requires_grad:
                (second,) = library.autograd.grad(first.sum(), [ts[j]], allow_unused=True)
                log.append(numbers(second))

        self.pair.step(f"second order of x{i} ** 2 to x{j}", act)


SETTINGS = settings(
    max_examples=150,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_random_programs() -> None:
    run_state_machine_as_test(Machine, settings=SETTINGS)
