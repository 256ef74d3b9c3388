"""Optimizers around other optimizers, as libraries write them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import retrograd as torch


class Silent(torch.optim.Optimizer):
    """Holds an optimizer, and never calls `Optimizer.__init__`."""

    def __init__(self, inner: torch.optim.Optimizer) -> None:
        self.inner = inner

    def step(self, closure: Any = None) -> Any:
        return self.inner.step(closure)


class Hooked(Silent):
    """Makes the tables of hooks itself."""

    def __init__(self, inner: torch.optim.Optimizer) -> None:
        self._optimizer_step_pre_hooks = OrderedDict()
        self._optimizer_step_post_hooks = OrderedDict()
        self._patch_step_function()
        super().__init__(inner)


@pytest.mark.parametrize("wrapper", [Silent, Hooked])
def test_a_wrapper_steps_its_optimizer(wrapper: type[Silent]) -> None:
    w = torch.ones(2, requires_grad=True)
    outer = wrapper(torch.optim.SGD([w], lr=0.5))
    w.sum().backward()
    seen: list[str] = []
    if wrapper is Hooked:
        outer.register_step_post_hook(lambda *_: seen.append("after"))
    outer.step()
    assert w.tolist() == [0.5, 0.5]
    assert seen == (["after"] if wrapper is Hooked else [])
