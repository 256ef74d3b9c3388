"""Tensors made in inference mode never join a graph and are never written outside of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch


def constant() -> Any:
    with torch.inference_mode():
        return torch.ones(3) * 2


SAVING: list[Callable[[Any, Any], Any]] = [
    lambda x, c: x * c,
    lambda x, c: c * x,
    lambda x, c: x / c,
    lambda x, c: x @ c,
    lambda x, c: torch.maximum(x, c),
    lambda x, c: x * c.view(3, 1),
    lambda x, c: x * c[0],
]


@pytest.mark.parametrize("operation", SAVING)
def test_saving_one_is_refused(operation: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved") as caught:
        operation(x, constant())
    assert caught.value.code == "RG113"  # type: ignore[attr-defined]
    with torch.no_grad():
        operation(x, constant())
    operation(x, constant().clone()).sum().backward()


def test_operations_that_save_nothing_take_them() -> None:
    x = torch.ones(3, requires_grad=True)
    (x + constant()).sum().backward()
    torch.where(constant() > 0, x, constant()).sum().backward()
    torch.addcmul(x, constant(), constant()).sum().backward()
    assert x.grad.tolist() == [3.0] * 3


WRITES: list[Callable[[Any], Any]] = [
    lambda c: c.add_(1),
    lambda c: c.mul_(c),
    lambda c: c.view(3, 1).add_(1),
    lambda c: c.copy_(torch.zeros(3)),
    lambda c: c.zero_(),
    lambda c: c.__setitem__(0, 5.0),
]


@pytest.mark.parametrize("write", WRITES)
def test_writing_one_outside_is_refused(write: Callable[[Any], Any]) -> None:
    c = constant()
    for mode in (torch.enable_grad, torch.no_grad):
        with mode(), pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
            write(c)
        assert c.tolist() == [2.0] * 3
    with torch.inference_mode():
        write(c)
    assert c.tolist() != [2.0] * 3


def test_views_of_them_are_inference_tensors_without_a_base() -> None:
    c = constant()
    for view in (c.view(3, 1), c[:2], c.unsqueeze(0)):
        assert view.is_inference() and not view._is_view() and view._base is None
    assert not (c * 2).is_inference() and not c.clone().is_inference()
    assert c.detach().is_inference()


def test_a_view_of_a_normal_tensor_stays_normal() -> None:
    x = torch.ones(3)
    with torch.inference_mode():
        view = x.view(3, 1)
    assert not view.is_inference() and view._is_view()
