"""A state machine over every kind of hook, on programs of ops, views and in-place writes.

Hooks log what they see, change gradients, remove themselves and one another. After every step the
logs and everything that can be seen of every tensor are compared with real PyTorch.
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

UNARY = ("exp", "sin", "tanh", "neg", "clone", "square")
BINARY = ("mul", "add", "sub")
VIEWS: dict[str, Any] = {
    "t": lambda x: x.t(),
    "flat": lambda x: x.view(-1),
    "row": lambda x: x[0],
    "rows": lambda x: x[1:],
    "alias": lambda x: x.view_as(x),
    "unbind": lambda x: x.unbind()[0],
}
WRITES = ("mul_", "add_", "copy_")
WRITES_ALONE = ("exp_", "tanh_", "zero_", "neg_")
NODE_KINDS = ("prehook", "hook", "accumulator prehook", "accumulator hook")

which = st.integers(0, 9)
flag = st.booleans()


def several(gradients: Any) -> list[Any]:
    return [numbers(gradient) for gradient in gradients]


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.pair = Pair(torch)
        self.hooks = 0
        self.handles: dict[Any, list[Any]] = {}  # by library

    def pick(self, number: int) -> int:
        return number % len(self.pair)

    def keep(self, library: Any, handle: Any) -> None:
        self.handles.setdefault(library, []).append(handle)

    def number(self) -> int:
        self.hooks += 1
        return self.hooks

    @initialize()
    def leaves(self) -> None:
        self.pair.leaf([[0.5, -0.25], [0.125, 0.75]], True)
        self.pair.leaf([[0.3, 0.7], [-0.4, 0.9]], True)
        self.pair.leaf([[1.5, 0.6], [0.2, 1.1]], False)

    # ------------------------------------------------------------------------------- programs

    @rule(a=which, b=which, name=st.sampled_from(BINARY))
    def combine(self, a: int, b: int, name: str) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            if ts[i].numel() * ts[j].numel() > 64:
                return None
            return getattr(ts[i], name)(ts[j])

        self.pair.step(f"x{i}.{name}(x{j})", act)

    @rule(a=which, name=st.sampled_from(UNARY))
    def alone(self, a: int, name: str) -> None:
        i = self.pick(a)
        self.pair.step(f"x{i}.{name}()", lambda lib, ts, log: getattr(ts[i], name)())

    @rule(a=which, name=st.sampled_from(sorted(VIEWS)), quiet=flag)
    def view(self, a: int, name: str, quiet: bool) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> Any:
            with library.no_grad() if quiet and a == 3 else contextlib.nullcontext():
                return VIEWS[name](ts[i])

        self.pair.step(f"{name} view of x{i} quiet={quiet and a == 3}", act)

    @rule(a=which, b=which, name=st.sampled_from(WRITES))
    def write(self, a: int, b: int, name: str) -> None:
        i, j = self.pick(a), self.pick(b)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            getattr(ts[i], name)(ts[j])

        self.pair.step(f"x{i}.{name}(x{j})", act)

    @rule(a=which, name=st.sampled_from(WRITES_ALONE))
    def write_alone(self, a: int, name: str) -> None:
        i = self.pick(a)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            getattr(ts[i], name)()

        self.pair.step(f"x{i}.{name}()", act)

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
            if i > 2:
                ts[i].detach_()

        self.pair.step(f"x{i}.detach_()", act)

    # ---------------------------------------------------------------------------------- hooks

    @rule(a=which, change=st.integers(0, 2))
    def tensor_hook(self, a: int, change: int) -> None:
        i, number = self.pick(a), self.number()

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            def seen(gradient: Any) -> Any:
                log.append(("tensor", number, numbers(gradient), library.is_grad_enabled()))
                if gradient is None or not change:
                    return None
                return gradient * 2 if change == 1 else gradient.detach()

            if ts[i]._is_view() and ts[i]._backward_hooks is None:
                ts[i].grad_fn  # noqa: B018  PyTorch fails if the hook is the first to renew it
            self.keep(library, ts[i].register_hook(seen))

        self.pair.step(f"hook {number} on x{i}, change={change}", act)

    @rule(a=which, kind=st.sampled_from(NODE_KINDS), change=flag)
    def node_hook(self, a: int, kind: str, change: bool) -> None:
        i, number = self.pick(a), self.number()

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            node = ts[i].grad_fn
            if node is not None and kind.startswith("accumulator"):
                found = [n for n, _ in node.next_functions if n is not None]
                node = found[0] if found and type(found[0]).__name__ == "AccumulateGrad" else None
            if node is None:
                return

            def before(gradients: Any) -> Any:
                log.append((kind, number, several(gradients)))
                if change:
                    return tuple(None if g is None else g * 3 for g in gradients)
                return None

            def after(inputs: Any, outputs: Any) -> Any:
                log.append((kind, number, several(inputs), several(outputs)))
                if change:
                    return tuple(None if g is None else g + 1 for g in inputs)
                return None

            register = node.register_prehook if "pre" in kind else node.register_hook
            self.keep(library, register(before if "pre" in kind else after))

        self.pair.step(f"{kind} {number} on the node of x{i}, change={change}", act)

    @rule(a=which, write=flag)
    def after_accumulation(self, a: int, write: bool) -> None:
        i, number = self.pick(a), self.number()

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            def seen(leaf: Any) -> None:
                log.append(("after", number, numbers(leaf.grad), library.is_grad_enabled()))
                if write and leaf.grad is not None:
                    leaf.grad.mul_(2)

            self.keep(library, ts[i].register_post_accumulate_grad_hook(seen))

        self.pair.step(f"post-accumulate hook {number} on x{i}, write={write}", act)

    @rule(a=which, b=which, c=which, any_of_them=flag)
    def many(self, a: int, b: int, c: int, any_of_them: bool) -> None:
        chosen, number = [self.pick(k) for k in (a, b, c)], self.number()

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            tensors = [ts[k] for k in chosen]
            if any(t._is_view() for t in tensors):
                return

            def seen(found: Any) -> None:
                log.append(("many", number, numbers(found) if any_of_them else several(found)))

            register = library.autograd.graph.register_multi_grad_hook
            mode = "any" if any_of_them else "all"
            self.keep(library, register(tensors, seen, mode=mode))

        self.pair.step(f"multi-grad hook {number} on {chosen}, any={any_of_them}", act)

    @rule(a=which)
    def retain(self, a: int) -> None:
        i = self.pick(a)
        self.pair.step(f"x{i}.retain_grad()", lambda lib, ts, log: ts[i].retain_grad())

    @rule(k=st.integers(0, 5))
    def remove(self, k: int) -> None:
        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            handles = self.handles.get(library, [])
            if handles:
                handles[k % len(handles)].remove()

        self.pair.step(f"remove handle {k}", act)

    @rule(a=which, k=st.integers(0, 5))
    def removing_hook(self, a: int, k: int) -> None:
        i, number = self.pick(a), self.number()

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            def seen(gradient: Any) -> None:
                log.append(("removing", number))
                handles = self.handles.get(library, [])
                if handles:
                    handles[k % len(handles)].remove()

            if ts[i]._is_view() and ts[i]._backward_hooks is None:
                ts[i].grad_fn  # noqa: B018
            ts[i].register_hook(seen)

        self.pair.step(f"hook {number} on x{i} that removes handle {k}", act)

    # --------------------------------------------------------------------------------- runs

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

    @rule(a=which, b=which, c=which, create=flag, edges=flag)
    def gradient(self, a: int, b: int, c: int, create: bool, edges: bool) -> None:
        i, j, k = self.pick(a), self.pick(b), self.pick(c)

        def act(library: Any, ts: list[Any], log: list[Any]) -> None:
            wanted = [ts[j], ts[k]]
            if edges:
                wanted = [library.autograd.graph.get_gradient_edge(t) for t in wanted]
            found = library.autograd.grad(
                ts[i].sum(), wanted, create_graph=create, retain_graph=True, allow_unused=True
            )
            log.append(several(found))

        self.pair.step(f"grad(x{i}.sum(), [x{j}, x{k}], create_graph={create}, {edges})", act)


SETTINGS = settings(
    max_examples=150,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_random_programs() -> None:
    run_state_machine_as_test(Machine, settings=SETTINGS)
