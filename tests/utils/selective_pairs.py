"""Selective checkpointing in both libraries, side by side."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import retrograd
import retrograd.nn.functional

torch = pytest.importorskip("torch")

WATCH = ("aten.lift_fresh.default", "aten.detach.default")


class Side:
    """One library, a policy that writes down what it sees, and a log."""

    def __init__(self, library: Any) -> None:
        self.t = library
        self.nn = library.nn.functional
        self.lib = library.utils.checkpoint
        self.policy = library.utils.checkpoint.CheckpointPolicy
        self.seen: list[Any] = []
        self.log: list[Any] = []

    def leaf(self, *shape: int, seed: int = 0) -> Any:
        values = np.random.default_rng(seed).standard_normal(shape)
        return self.t.from_numpy(values).requires_grad_(True)

    def watch(self, *saved: str) -> Callable[..., Any]:
        """A policy that saves these ops."""

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            assert context.is_recompute is False
            if str(op) not in WATCH:
                arguments = {k: shown(v) for k, v in kwargs.items()}
                self.seen.append((str(op), [shown(a) for a in args], arguments))
            return self.policy.MUST_SAVE if str(op) in saved else self.policy.PREFER_RECOMPUTE

        return policy

    def run(self, function: Any, *args: Any, policy: Any, allow: bool = False, **more: Any) -> Any:
        contexts = partial(self.lib.create_selective_checkpoint_contexts, policy, allow)
        return self.lib.checkpoint(
            function, *args, use_reentrant=False, context_fn=contexts, **more
        )

    def fails(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except Exception as error:
            self.log.append((type(error).__name__, str(error).splitlines()[0]))
        else:
            self.log.append("no error")

    def note(self, *tensors: Any) -> None:
        for tensor in tensors:
            self.log.append(np.round(tensor.detach().numpy().copy(), 9).tolist())


def shown(value: Any) -> Any:
    """An argument of an op, so that both libraries' can be compared."""
    if hasattr(value, "detach"):
        return ("tensor", list(value.shape), value.requires_grad)
    if isinstance(value, (list, tuple)):
        return [shown(item) for item in value]
    return value if isinstance(value, (bool, int, float, type(None))) else str(value)


def both(scenario: Callable[[Side], None]) -> tuple[Side, Side]:
    sides = Side(torch), Side(retrograd)
    for side in sides:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scenario(side)
    assert sides[1].log == sides[0].log
    return sides


def chain(x: Any) -> Any:
    return ((x @ x).sin() @ x).sin().exp()
