"""Several threads: one accumulator per leaf, nothing lost, nothing leaked, failures stay put.

The interpreter is made to switch threads as often as it can, so that a race would show.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import retrograd
from retrograd.engine import accumulate, ownership
from retrograd.engine import walk as engine
from retrograd.engine.state import GIL, HOT, STATE
from retrograd.ops.calling.lazy import build
from retrograd.ops.registry import OPS
from retrograd.tensor import meta_of

THREADS = 4


@pytest.fixture(autouse=True)
def often() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(work: Callable[[int], Any], count: int = THREADS) -> list[Any]:
    """Run `work(0)` ... `work(count - 1)` at the same time; what they returned, by number."""
    barrier = threading.Barrier(count)
    results: list[Any] = [None] * count

    def run(number: int) -> None:
        barrier.wait()
        try:
            results[number] = work(number)
        except BaseException as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# ------------------------------------------------------------------- made when first asked for


def test_a_leaf_has_one_accumulator() -> None:
    for _ in range(300):
        x = retrograd.ones(2, requires_grad=True)

        def work(number: int, x: Any = x) -> Any:
            y = x * 2
            (gradient,) = retrograd.autograd.grad(y.sum(), x)  # fails if x has another one by now
            return gradient.tolist(), y

        results = together(work)
        assert [values for values, _ in results] == [[2.0, 2.0]] * THREADS
        assert len({id(y.grad_fn.edges[0]) for _, y in results}) == 1


def test_rarer_facts_are_kept_in_one_place() -> None:
    for _ in range(50):
        x = retrograd.ones(2, requires_grad=True)
        assert len({id(meta) for meta in together(lambda number, x=x: meta_of(x))}) == 1
        node = (x * 2).grad_fn
        together(lambda number, node=node: node.register_hook(lambda a, b: None))
        together(lambda number, node=node: node.register_prehook(lambda gradients: None))
        assert (len(node.extra.post), len(node.extra.pre)) == (THREADS, THREADS)


def test_views_made_at_once_share_their_version() -> None:
    for _ in range(50):
        x = retrograd.ones(2)
        views = together(lambda number, x=x: x.detach())
        x.add_(1)
        assert [view._version for view in views] == [1] * THREADS


def test_functions_are_compiled_once() -> None:
    for trial in range(20):
        made: list[int] = []

        def lines(made: list[int] = made) -> list[str]:
            made.append(1)
            return ["def double(x, *, plus=0):", "    return x * 2 + plus"]

        function = build("double", lines, f"thread trial {trial}")
        results = together(lambda number, f=function: (f(number), f(number, plus=1)))
        assert results == [(2 * number, 2 * number + 1) for number in range(THREADS)]
        assert made == [1]


@pytest.mark.parametrize("kind", ["node_class", "half_class", "complex_class"])
def test_node_classes_are_made_once(kind: str) -> None:
    op = OPS["sinc"]
    before = op.__dict__.pop(kind, None)
    try:
        assert len(set(together(lambda number: getattr(op, kind)))) == 1
    finally:
        if before is not None:
            op.__dict__[kind] = before
            if kind == "node_class":
                op.run.form = before


# ---------------------------------------------------------------------------------- shared graphs


def shared_leaf(torch: Any) -> Any:
    x = torch.zeros(5, requires_grad=True)

    def work(number: int) -> None:
        for _ in range(20):
            (x * (number + 1)).exp().sum().backward()

    assert together(work) == [None] * THREADS
    return x.grad.tolist()


def shared_graph(torch: Any) -> Any:
    x = torch.ones(5, requires_grad=True)
    trunk = x.exp() * x

    def work(number: int) -> None:
        for _ in range(10):
            (trunk * (number + 1)).sum().backward(retain_graph=True)

    assert together(work) == [None] * THREADS
    return np.round(x.grad.numpy(), 2).tolist()


def created_graphs(torch: Any) -> Any:
    x = torch.full((3,), 0.5, requires_grad=True)
    loss = (x**3).sum()

    def work(number: int) -> Any:
        (g,) = torch.autograd.grad(loss, x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return h.tolist()

    return together(work)


def hooks_in_threads(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)
    seen: list[str] = []
    x.register_hook(lambda gradient: seen.append("leaf"))
    x.register_post_accumulate_grad_hook(lambda leaf: seen.append("after"))
    trunk = x * 2
    trunk.register_hook(lambda gradient: gradient * 3)

    def work(number: int) -> None:
        for _ in range(10):
            trunk.sum().backward(retain_graph=True)

    assert together(work) == [None] * THREADS
    return x.grad.tolist(), sorted(seen)


def one_fails(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    def work(number: int) -> Any:
        y = x * 2
        if number == 2:
            y.register_hook(lambda gradient: {}["missing"])
        try:
            y.sum().backward()
        except KeyError as error:
            return repr(error)
        return torch.is_grad_enabled()

    return together(work), x.grad.tolist()


def modes(torch: Any) -> Any:
    x = torch.ones(3, requires_grad=True)

    def work(number: int) -> Any:
        seen = []
        for _ in range(20):
            with torch.set_grad_enabled(number % 2 == 0):
                seen.append((x * 2).requires_grad)
            with torch.inference_mode(number % 2 == 1):
                seen.append((x * 2).is_inference())
        return set(seen)

    return together(work)


def fork_and_join(torch: Any) -> Any:
    """A graph made of parts from several threads, walked by the main one."""
    x = torch.ones(3, requires_grad=True)
    parts = together(lambda number: (x * (number + 1)).exp())
    torch.stack(parts).sum().backward()
    return np.round(x.grad.numpy(), 2).tolist()


@pytest.mark.torch
@pytest.mark.parametrize(
    "scenario",
    [
        *(shared_leaf, shared_graph, created_graphs, hooks_in_threads),
        *(one_fails, modes, fork_and_join),
    ],
    ids=lambda scenario: scenario.__name__,
)
def test_like_pytorch(scenario: Callable[[Any], Any]) -> None:
    torch = pytest.importorskip("torch")
    assert scenario(retrograd) == scenario(torch)
    assert (HOT["NO_GRAD"], HOT["UNUSUAL"], accumulate.ACTIVE.calls) == (0, 0, 0)


# ----------------------------------------------------------------------------------- deep nesting


def nest(depth: int, leaf: Any) -> None:
    y = leaf * 2

    def hook(gradient: Any) -> None:
        with retrograd.enable_grad():
            if depth:
                nest(depth - 1, leaf)

    y.register_hook(hook)
    y.sum().backward()


def test_deep_calls_in_several_threads() -> None:
    leaves = [retrograd.ones(2, requires_grad=True) for _ in range(3)]
    assert together(lambda number: nest(100 + number, leaves[number]), 3) == [None] * 3
    assert [x.grad.tolist() for x in leaves] == [[2.0 * (101 + n)] * 2 for n in range(3)]
    assert (HOT["NO_GRAD"], HOT["UNUSUAL"], accumulate.ACTIVE.calls) == (0, 0, 0)


def test_deep_calls_keep_modes_and_pass_on_errors() -> None:
    """The 40th nested call goes on in a new thread, which must look like the same one."""
    seen: list[Any] = []

    def deeper(depth: int) -> None:
        x = retrograd.ones(2, requires_grad=True)
        y = x * 2

        def hook(gradient: Any) -> None:
            if depth:
                with retrograd.enable_grad():
                    deeper(depth - 1)
                return
            seen.append((len(STATE.saved_hooks), np.geterr()["divide"], local.value))
            raise KeyError("far down")

        y.register_hook(hook)
        y.sum().backward()

    import contextvars

    class Local:
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")

        @property
        def value(self) -> str:
            return self.variable.get("unset")

    local = Local()
    token = local.variable.set("mine")
    hooks = ((lambda x: x, lambda x: x),)
    from retrograd.engine.state import set_saved_hooks

    set_saved_hooks(hooks)
    try:
        with pytest.raises(KeyError, match="far down"):
            deeper(60)
    finally:
        set_saved_hooks(())
        local.variable.reset(token)
    assert seen == [(1, "ignore", "mine")]
    assert (HOT["NO_GRAD"], HOT["UNUSUAL"], STATE.depth, STATE.call) == (0, 0, 0, None)


# -------------------------------------------------------------------------------- reference counts


@pytest.mark.skipif(not GIL, reason="no array counts as unshared without the global lock")
def test_reference_counts_tell_whether_an_array_is_shared() -> None:
    """On the interpreters that the library is tested with; elsewhere both limits are 0."""
    known = (3, 4) if sys.version_info < (3, 14) else (1, 3)
    assert (ownership.ALONE, ownership.ALONE_IN_BUFFER) == known
    assert ownership.counts(False) == known
    assert ownership.counts(True) == (known[0] + 1, known[1] + 1)


def test_limits_are_zero_where_counts_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "counts", lambda shared: (2, 3))
    assert ownership._thresholds() == (0, 0)
    monkeypatch.setattr(ownership, "counts", lambda shared: (3, 4))  # another owner does not show
    assert ownership._thresholds() == (0, 0)
    monkeypatch.undo()
    monkeypatch.setattr(ownership, "GIL", False)
    assert ownership._thresholds() == (0, 0)


def test_numbers_do_not_depend_on_taking_over_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    def gradients() -> list[Any]:
        x = retrograd.tensor([0.3, -1.2, 2.0], requires_grad=True)
        h = x * 2
        kept: list[Any] = []
        h.register_hook(lambda gradient: kept.append(gradient))
        (h + h.exp() + h * x + x).sum().backward()
        (x + x).sum().backward()
        return [x.grad.tolist(), kept[0].tolist()]

    usual = gradients()
    monkeypatch.setattr(accumulate, "ALONE", 0)
    monkeypatch.setattr(engine, "ALONE_IN_BUFFER", 0)
    assert gradients() == usual


@pytest.mark.skipif(not GIL, reason="every call is walked this way without the global lock")
def test_walks_without_slots_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the global lock no call uses the slots of the nodes."""

    def gradients() -> Any:
        x = retrograd.tensor([0.3, -1.2, 2.0], requires_grad=True)
        h = (x * x).tanh()
        (h.exp() * h + x).sum().backward()
        return x.grad.tolist()

    usual = gradients()
    monkeypatch.setattr(engine, "GIL", False)
    monkeypatch.setattr(engine, "_walk_raw", None)
    assert gradients() == usual
