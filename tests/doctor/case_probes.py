"""Symptoms of silent mistakes, watched while a labelled script runs.

A watcher hooks every optimiser step of the process it is made in and is asked for its `symptom`
after the run; `observe_case` makes one for the probe kinds in `WATCHERS`.
"""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)


def graph_nodes() -> set[Any]:
    """The graph nodes that can be reached from tensors that are alive."""
    gc.collect()
    tensors = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
    todo = [each.grad_fn for each in tensors if each.grad_fn is not None]
    seen = set(todo)
    while todo:
        for node, _ in todo.pop().next_functions:
            if node is not None and node not in seen:
                seen.add(node)
                todo.append(node)
    return seen


def holds_saved_tensors(node: Any) -> bool:
    """Whether a node still has what it saved for backward (a released one raises when asked)."""
    names = [name for name in dir(node) if name.startswith("_saved_") or name == "saved_tensors"]
    for name in names:
        try:
            saved = getattr(node, name)
        except RuntimeError:
            return False
        several = saved if isinstance(saved, (tuple, list)) else (saved,)
        if any(isinstance(each, torch.Tensor) for each in several):
            return True
    return False


def parameters_of(optimizer: Optimizer) -> list[torch.Tensor]:
    return [each for group in optimizer.param_groups for each in group["params"]]


class UnreleasedNodes:
    """Nodes that still hold saved tensors when an optimiser steps: a graph kept for nothing."""

    def __init__(self) -> None:
        self.most = 0
        register_optimizer_step_pre_hook(self.before_step)

    def before_step(self, *_: Any) -> None:
        self.most = max(self.most, sum(map(holds_saved_tensors, graph_nodes())))

    def symptom(self) -> bool:
        return self.most > 0


class GradientsUsedAgain:
    """A step uses a gradient that an earlier step has used and that was not cleared in between."""

    def __init__(self) -> None:
        self.used: dict[torch.Tensor, torch.Tensor | None] = {}
        self.mixed: set[torch.Tensor] = set()
        self.again = 0
        register_optimizer_step_pre_hook(self.before_step)
        register_optimizer_step_post_hook(self.after_step)

    def before_step(self, optimizer: Optimizer, *_: Any) -> None:
        for parameter in parameters_of(optimizer):
            self.again += parameter in self.mixed and parameter.grad is not None

    def after_step(self, optimizer: Optimizer, *_: Any) -> None:
        for parameter in parameters_of(optimizer):
            if parameter.requires_grad and parameter not in self.used:
                parameter.register_hook(lambda _, parameter=parameter: self.before_add(parameter))
            gradient = parameter.grad
            self.used[parameter] = None if gradient is None else gradient.detach().clone()

    def before_add(self, parameter: torch.Tensor) -> None:
        gradient, used = parameter.grad, self.used[parameter]
        if gradient is None or not gradient.count_nonzero():
            self.mixed.discard(parameter)
        elif used is not None and torch.equal(gradient, used):
            self.mixed.add(parameter)

    def symptom(self) -> bool:
        return self.again > 0


class NoGradient:
    """A parameter of an optimiser has no gradient (or only zeros) at each of its steps."""

    def __init__(self) -> None:
        self.reached: dict[torch.Tensor, bool] = {}
        register_optimizer_step_pre_hook(self.before_step)

    def before_step(self, optimizer: Optimizer, *_: Any) -> None:
        for parameter in parameters_of(optimizer):
            gradient = parameter.grad
            here = gradient is not None and bool(gradient.count_nonzero())
            self.reached[parameter] = here or self.reached.get(parameter, False)

    def symptom(self) -> bool:
        return not all(self.reached.values())


class NotInOptimizer:
    """A live `nn.Parameter` has a gradient at an optimiser's step and no optimiser holds it."""

    def __init__(self) -> None:
        self.left_out = 0
        register_optimizer_step_pre_hook(self.before_step)

    def before_step(self, *_: Any) -> None:
        gc.collect()
        alive = gc.get_objects()
        held: set[torch.Tensor] = set()
        for each in alive:
            if issubclass(type(each), Optimizer):
                held.update(parameters_of(each))
        for each in alive:
            if issubclass(type(each), torch.nn.Parameter) and each.grad is not None:
                self.left_out += each not in held

    def symptom(self) -> bool:
        return self.left_out > 0


WATCHERS: dict[str, Any] = {
    "unreleased-nodes": UnreleasedNodes,
    "gradients-used-again": GradientsUsedAgain,
    "no-gradient": NoGradient,
    "not-in-optimizer": NotInOptimizer,
}
