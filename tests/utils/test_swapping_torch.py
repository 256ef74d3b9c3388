"""`torch.utils.swap_tensors` beside PyTorch."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def _seen(lib: Any) -> list[Any]:
    """What a program sees of two tensors that were exchanged."""
    parameter = lib.nn.Parameter(lib.tensor([1.0, 2.0]))
    other = lib.tensor([[3, 4]])
    parameter.label = "first"
    parameter.grad = lib.ones(2)
    held = [parameter, other]
    lib.utils.swap_tensors(parameter, other)
    seen: list[Any] = [held[0] is parameter, held[1] is other]
    for tensor in held:
        seen += [
            repr(tensor),
            str(tensor.dtype),
            tensor.requires_grad,
            vars(tensor),
            tensor._version,
        ]
    seen += [isinstance(other, lib.nn.Parameter), isinstance(parameter, lib.nn.Parameter)]
    seen.append(other.grad.tolist())
    (other * 2).sum().backward()
    seen.append(other.grad.tolist())
    model = lib.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(1.0)
    optimizer = lib.optim.SGD(model.parameters(), lr=1.0)
    lib.utils.swap_tensors(model.weight, lib.nn.Parameter(lib.tensor([[5.0]])))
    model(lib.ones(1)).sum().backward()
    optimizer.step()
    seen.append(model.weight.item())
    return seen


def test_the_same_is_seen_afterwards() -> None:
    assert _seen(retrograd) == _seen(torch)


@pytest.mark.parametrize("lib", [retrograd, torch], ids=["retrograd", "torch"])
def test_refused_while_something_knows_them_by_identity(lib: Any) -> None:
    swap = lib.utils.swap_tensors
    base, leaf, other = lib.ones(2), lib.ones(2, requires_grad=True), lib.zeros(1)
    reference = weakref.ref(base)
    with pytest.raises(RuntimeError, match="Cannot swap t2 because it has weakref"):
        swap(other, base)
    del reference
    view = base[0]
    with pytest.raises(RuntimeError):  # PyTorch's message is about something else
        swap(base, other)
    del view
    swap(base, other)
    assert base.tolist() == [0.0] and other.tolist() == [1.0, 1.0]
    graph = leaf * leaf
    with pytest.raises(RuntimeError, match="Expected use_count of t1 to be 1 or 2"):
        swap(leaf, base)
    graph.sum().backward()
    assert leaf.grad.tolist() == [2.0, 2.0]
