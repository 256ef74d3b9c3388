"""A state machine over create, view, write, save, backward, retain, free, detach, on both.

After every step everything that can be seen of every tensor is compared with real PyTorch: values,
version, grad_fn and its edges, leaf and view flags, gradients, what hooks saw, and the errors.
"""

from __future__ import annotations

import contextlib
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.autograd.pairs import Pair, numbers

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

UNARY = ("exp", "sin", "tanh", "sigmoid", "neg", "clone", "square", "sqrt")
BINARY = ("mul", "add", "sub")
VIEWS: dict[str, Any] = {
    "t": lambda x: x.t(),
    "flat": lambda x: x.view(-1),
    "square": lambda x: x.view(2, 2),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "row": lambda x: x[0],
    "rows": lambda x: x[1:],
    "unbind": lambda x: x.unbind()[0],
    "split": lambda x: x.split(1)[1],
    "detach": lambda x: x.detach(),
    "alias": lambda x: x.view_as(x),
    "diagonal": lambda x: x.diagonal(),
    "transpose": lambda x: x.transpose(0, 1),
    "narrow": lambda x: x.narrow(0, 0, 1),
    "squeeze": lambda x: x.squeeze(),
    "data": lambda x: x.data,
}
WRITES = ("mul_", "add_", "sub_", "copy_")
WRITES_ALONE = ("exp_", "sin_", "tanh_", "sigmoid_", "zero_", "neg_")

which = st.integers(0, 9)
flag = st.booleans()


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(torch)
        self.hooks = 0

    def pick(self, number: int) -> int:
        return number % len(self.pair)

    def mode(self, library: Any, quiet: bool) -> Any:
        return library.no_grad() if quiet else contextlib.nullcontext()

    @initialize()
    def leaves(self) -> None:
        self.pair.leaf([[0.5, -0.25], [0.125, 0.75]], True)
        self.pair.leaf([[0.3, 0.7], [-0.4, 0.9]], True)
        self.pair.leaf([[1.5, 0.6], [0.2, 1.1]], False)

    @rule(a=which, b=which, name=st.sampled_from(BINARY), quiet=flag)
    def combine(self, a: int, b: int, name: str, quiet: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            if ts[i].numel() * ts[j].numel() > 64:
                return None
            with self.mode(library, quiet and a % 3 == 0):
                return getattr(ts[i], name)(ts[j])

        self.pair.step(f"x{i}.{name}(x{j})", act)

    @rule(a=which, name=st.sampled_from(UNARY))
    def alone(self, a: int, name: str) -> None:
        i = self.pick(a)
        self.pair.step(f"x{i}.{name}()", lambda lib, ts, log: getattr(ts[i], name)())

    @rule(a=which, times=flag)
    def with_number(self, a: int, times: bool) -> None:
        i = self.pick(a)
        self.pair.step(
            f"x{i} * or + number", lambda lib, ts, log: ts[i] * 2.5 if times else ts[i] + 1.5
        )

    @rule(a=which, name=st.sampled_from(sorted(VIEWS)), quiet=flag)
    def view(self, a: int, name: str, quiet: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            with self.mode(library, quiet and a % 3 == 0):
                return VIEWS[name](ts[i])

        self.pair.step(f"{name} view of x{i} quiet={quiet and a % 3 == 0}", act)

    @rule(a=which, b=which, name=st.sampled_from(WRITES), quiet=flag)
    def write(self, a: int, b: int, name: str, quiet: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            with self.mode(library, quiet and a % 3 == 0):
                getattr(ts[i], name)(ts[j])

        self.pair.step(f"x{i}.{name}(x{j}) quiet={quiet and a % 3 == 0}", act)

    @rule(a=which, name=st.sampled_from(WRITES_ALONE), quiet=flag)
    def write_alone(self, a: int, name: str, quiet: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            with self.mode(library, quiet and a % 3 == 0):
                getattr(ts[i], name)()

        self.pair.step(f"x{i}.{name}() quiet={quiet and a % 3 == 0}", act)

    @rule(a=which, b=which, number=flag)
    def assign(self, a: int, b: int, number: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i][0] = 2.0 if number else ts[j]

        self.pair.step(f"x{i}[0] = {'2.0' if number else f'x{j}'}", act)

    @rule(a=which)
    def retain(self, a: int) -> None:
        i = self.pick(a)
        self.pair.step(f"x{i}.retain_grad()", lambda lib, ts, log: ts[i].retain_grad())

    @rule(a=which)
    def hook(self, a: int) -> None:
        i = self.pick(a)
        self.hooks += 1
        number = self.hooks

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            def seen(gradient: Any) -> Any:
                log.append(("hook", number, numbers(gradient)))
                return gradient * 2 if number % 2 and gradient is not None else None

            ts[i].register_hook(seen)

        self.pair.step(f"hook {number} on x{i}", act)

    @rule(a=which)
    def node_hooks(self, a: int) -> None:
        i = self.pick(a)
        self.hooks += 1
        number = self.hooks

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            node = ts[i].grad_fn
            if node is not None:
                node.register_prehook(
                    lambda gs: log.append(("pre", number, [g is not None for g in gs]))
                )
                node.register_hook(
                    lambda ins, outs: log.append(
                        (
                            "post",
                            number,
                            [g is not None for g in ins],
                            [g is not None for g in outs],
                        )
                    )
                )

        self.pair.step(f"node hooks {number} on x{i}", act)

    @rule(a=which, on=flag)
    def require(self, a: int, on: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i].requires_grad_(on)

        self.pair.step(f"x{i}.requires_grad_({on})", act)

    @rule(a=which)
    def detach_in_place(self, a: int) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i].detach_()

        self.pair.step(f"x{i}.detach_()", act)

    @rule(a=which, keep=flag)
    def backward(self, a: int, keep: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i].sum().backward(retain_graph=keep)

        self.pair.step(f"x{i}.sum().backward(retain_graph={keep})", act)

    @rule(a=which, b=which, keep=flag)
    def backward_to(self, a: int, b: int, keep: bool) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            ts[i].sum().backward(inputs=[ts[j]], retain_graph=keep)

        self.pair.step(f"x{i}.sum().backward(inputs=[x{j}], retain_graph={keep})", act)

    @rule(a=which, b=which, c=which, keep=flag)
    def gradient(self, a: int, b: int, c: int, keep: bool) -> None:
        i, j, k = self.pick(a), self.pick(b), self.pick(c)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            found = library.autograd.grad(
                ts[i].sum(), [ts[j], ts[k]], retain_graph=keep, allow_unused=True
            )
            log.append([numbers(g) for g in found])

        self.pair.step(f"grad(x{i}.sum(), [x{j}, x{k}], retain_graph={keep})", act)

    @rule(a=which, b=which)
    def second_order(self, a: int, b: int) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            (first,) = library.autograd.grad(
                ts[i].sum(), [ts[j]], create_graph=True, allow_unused=True
            )
            if first is None or not first.requires_grad:
                log.append(None)
                return
            (second,) = library.autograd.grad(first.sum(), [ts[j]], allow_unused=True)
            log.append(numbers(second))

        self.pair.step(f"second order of x{i}.sum() to x{j}", act)


SETTINGS = settings(
    max_examples=150,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_random_programs() -> None:
    run_state_machine_as_test(Machine, settings=SETTINGS)
