"""What selective checkpoints keep, for how long, and how they get on with other modes."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

import retrograd
from tests.utils.selective_pairs import Side, both, chain

pytestmark = pytest.mark.torch

# -------------------------------------------------------------------------------------- memory


@pytest.mark.parametrize("saved", [(), ("exp",), ("sin",), ("sin", "exp")])
def test_what_is_kept_is_what_the_policy_says(saved: tuple[str, ...]) -> None:
    s = Side(retrograd)
    alive: dict[str, list[Any]] = {"sin": [], "exp": []}

    def function(x: Any) -> Any:
        for _ in range(3):
            for name in ("sin", "exp"):
                x = getattr(x, name)()
                alive[name].append(weakref.ref(x._array))
        return x.sum()

    def living() -> dict[str, int]:
        return {name: sum(ref() is not None for ref in refs) for name, refs in alive.items()}

    gc.collect()
    gc.disable()
    try:
        policy = s.watch(*[f"aten.{name}.default" for name in saved])
        out = s.run(function, s.leaf(100), policy=policy)
        assert living() == {name: 3 if name in saved else 0 for name in ("sin", "exp")}
        out.backward()
        assert living() == {"sin": 0, "exp": 0}
    finally:
        gc.enable()


def test_kept_results_go_with_the_graph() -> None:
    s = Side(retrograd)
    alive: list[Any] = []

    def function(x: Any) -> Any:
        x = x.sin()
        alive.append(weakref.ref(x._array))
        return x.exp().sum()

    gc.collect()
    gc.disable()
    try:
        out = s.run(function, s.leaf(100), policy=s.watch("aten.sin.default"))
        assert alive[0]() is not None
        del out
        assert alive[0]() is None
    finally:
        gc.enable()


# ------------------------------------------------------------------------------ with other modes


def test_a_profiler_that_starts_and_stops_inside() -> None:
    s = Side(retrograd)
    x = s.leaf(3, 3)

    def function(x: Any) -> Any:
        with s.t.autograd.profiler.profile():
            x = x @ x
        return x.sin().exp()

    out = s.run(function, x, policy=s.watch("aten.mm.default"))
    out.sum().backward()
    assert [name for name, *_ in s.seen] == [
        "aten.mm.default",
        "aten.sin.default",
        "aten.exp.default",
    ]
    expected = s.leaf(3, 3)
    (expected @ expected).sin().exp().sum().backward()
    assert x.grad.tolist() == expected.grad.tolist()


def test_other_threads_are_left_alone() -> None:
    s = Side(retrograd)

    def function(x: Any) -> Any:
        other = threading.Thread(target=lambda: s.leaf(3).cos())
        other.start()
        other.join()
        return x.sin()

    s.run(function, s.leaf(3), policy=s.watch())
    assert [name for name, *_ in s.seen] == ["aten.sin.default"]


def test_without_grad_no_policy_is_asked() -> None:
    def scenario(s: Side) -> None:
        with s.t.no_grad():
            s.note(s.run(chain, s.leaf(2, 2), policy=s.watch()))
        s.log.append(s.seen)

    both(scenario)
