"""Ops in rare modes: the short way and the general path give the same results, graphs and hooks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.engine.state import HOT
from retrograd.ops.calling import dispatch


def chain(x: Any, w: Any) -> Any:
    """Rules that read inputs, outputs and neither; a view, a number, an option, an integer."""
    y = torch.add(x * w, w, alpha=2) - 0.5
    y = y.exp().view(-1, 2).tanh() + torch.ones(2)
    return (y / y.sum(0) + y.long() * 2).relu() @ w.view(2, 2).t()


def leaves() -> tuple[Any, Any]:
    x = torch.linspace(-1, 1, 4).reshape(2, 2).requires_grad_()
    w = torch.tensor([[0.5, -0.25], [1.5, 0.75]], requires_grad=True)
    return x, w


def nodes(tensor: Any) -> list[str]:
    """The names of all nodes behind a tensor, depth first."""
    found: list[str] = []
    stack = [tensor.grad_fn]
    while stack:
        node = stack.pop()
        if node is not None:
            found.append(node.name())
            stack += [edge for edge, _ in node.next_functions]
    return found


def saved_hooks() -> Any:
    x, w = leaves()
    seen: list[Any] = []

    def pack(tensor: Any) -> Any:
        seen.append((tensor.tolist(), tensor.requires_grad, torch.is_grad_enabled()))
        return tensor.detach().numpy()

    with torch.autograd.graph.saved_tensors_hooks(pack, torch.from_numpy):
        result = chain(x, w)
    names = nodes(result)
    result.sum().backward()
    return names, seen, [x.grad.tolist(), w.grad.tolist()], HOT["UNUSUAL"], HOT["NO_GRAD"]


def tangents() -> Any:
    x, w = leaves()
    direction = torch.full((2, 2), 0.25)
    value, moved = torch.func.jvp(lambda x: chain(x, w), (x,), (direction,))
    slopes = torch.autograd.grad(moved.sum() + value.sum(), (x, w))
    return value.tolist(), moved.tolist(), [g.tolist() for g in slopes], HOT["UNUSUAL"]


def nested_tangents() -> Any:
    x, w = (leaf.detach() for leaf in leaves())

    def speed(x: Any) -> Any:
        return torch.func.jvp(lambda x: chain(x, w), (x,), (w,))[1]

    return torch.func.jvp(speed, (x,), (w,))[1].tolist(), HOT["UNUSUAL"]


def batches() -> Any:
    x, w = leaves()
    rows = torch.stack([x.detach(), w.detach(), x.detach() * 2])
    plain = torch.func.vmap(chain, (0, None))(rows, w.detach())
    slopes = torch.func.vmap(torch.func.grad(lambda x, w: chain(x, w).sum()), (0, None))(rows, w)
    further = torch.autograd.grad(slopes.sum(), w)[0]
    return plain.tolist(), slopes.tolist(), further.tolist(), HOT["UNUSUAL"]


@pytest.mark.parametrize("scenario", [saved_hooks, tangents, nested_tangents, batches])
def test_as_the_general_path(scenario: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    short = scenario()
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "shortcut", lambda op, plan, args: None)
        general = scenario()
    assert short[-1] == general[-1] == 0
    for mine, other in zip(short, general, strict=True):
        if isinstance(mine, list) and mine and isinstance(mine[0], float | list):
            np.testing.assert_allclose(np.array(mine), np.array(other), rtol=1e-5, atol=1e-6)
        else:
            assert mine == other


def test_an_error_leaves_the_count_of_modes() -> None:
    def refuse(tensor: Any) -> Any:
        raise ValueError("no")

    x, w = leaves()
    with torch.autograd.graph.saved_tensors_hooks(refuse, refuse):
        before = HOT["UNUSUAL"]
        with pytest.raises(ValueError, match="no"):
            x * w
        with pytest.raises(RuntimeError):
            x + torch.ones(3)
        assert HOT["UNUSUAL"] == before == 1
    assert HOT["UNUSUAL"] == 0


def test_another_thread_keeps_its_own_mode() -> None:
    """A thread with hooks calls ops the short way while another one has hooks, too."""
    counts: list[int] = []
    barrier = threading.Barrier(2)

    def work() -> None:
        x, w = leaves()
        packed: list[Any] = []

        def pack(tensor: Any) -> Any:
            packed.append(tensor)
            return tensor.detach()

        barrier.wait()
        for _ in range(300):
            with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
                (x * w).sum().backward()
        counts.append(len(packed))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [600, 600]
    assert HOT["UNUSUAL"] == 0


def test_a_strange_operand() -> None:
    class Stranger:
        def __radd__(self, other: Any) -> str:
            return "mine"

    x, _ = leaves()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert x + Stranger() == "mine"
        with pytest.raises(TypeError):
            x + "text"
