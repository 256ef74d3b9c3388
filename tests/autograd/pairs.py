"""The same program on PyTorch and on retrograd, with every observable compared after each step."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import retrograd


class Divergence(AssertionError):
    """PyTorch and retrograd disagree."""


class Pair:
    """Two libraries side by side: lists of tensors that must stay alike."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.theirs: list[Any] = []
        self.ours: list[Any] = []
        self.their_log: list[Any] = []
        self.our_log: list[Any] = []
        self.steps: list[str] = []

    def __len__(self) -> int:
        return len(self.ours)

    def leaf(self, values: Any, requires_grad: bool) -> None:
        """A new leaf in both libraries."""
        array = np.asarray(values, np.float64)
        self.theirs.append(self.torch.tensor(array, requires_grad=requires_grad))
        self.ours.append(retrograd.tensor(array, requires_grad=requires_grad))
        self.steps.append(f"leaf {array.tolist()} requires_grad={requires_grad}")

    def step(self, label: str, action: Callable[[Any, list[Any], list[Any]], Any]) -> bool:
        """Run ``action(library, tensors, log)`` on both; True if it ran (on both) to the end.

        A tensor that it returns joins the lists. Exceptions must be of one type and begin alike.
        """
        self.steps.append(label)
        results: list[Any] = []
        errors: list[BaseException | None] = []
        sides = (
            (self.torch, self.theirs, self.their_log),
            (retrograd, self.ours, self.our_log),
        )
        for library, tensors, log in sides:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    results.append(action(library, tensors, log))
                errors.append(None)
            except Exception as error:
                results.append(None)
                errors.append(error)
        theirs, ours = errors
        if not _same_error(ours, theirs):
            raise Divergence(f"{self._story()}\n  torch: {theirs!r}\n  ours:  {ours!r}") from ours
        if theirs is not None:
            self.check()
            return False
        if results[0] is not None:
            self.theirs.append(results[0])
            self.ours.append(results[1])
        self.check()
        return True

    def check(self) -> None:
        """Compare every observable of every tensor, and what hooks and grad() logged."""
        for index, (theirs, ours) in enumerate(zip(self.theirs, self.ours, strict=True)):
            a, b = facts(theirs), facts(ours)
            for name, value in a.items():
                if not _alike(value, b[name]):
                    raise Divergence(
                        f"{self._story()}\n  tensor {index}, {name}: torch {value}, ours {b[name]}"
                    )
        if len(self.their_log) != len(self.our_log) or not all(
            _alike(a, b) for a, b in zip(self.their_log, self.our_log, strict=True)
        ):
            raise Divergence(f"{self._story()}\n  torch {self.their_log}\n  ours  {self.our_log}")

    def _story(self) -> str:
        return "\n".join(["after:", *(f"  {number}. {s}" for number, s in enumerate(self.steps))])


def facts(tensor: Any) -> dict[str, Any]:
    """Everything a program can see of a tensor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            node = tensor.grad_fn
        except RuntimeError as error:
            return {"invalid": str(error)[:60]}
        gradient = tensor.grad
        return {
            "shape": tuple(tensor.shape),
            "requires_grad": tensor.requires_grad,
            "is_leaf": tensor.is_leaf,
            "version": tensor._version,
            "is_view": tensor._is_view(),
            "grad_fn": None if node is None else type(node).__name__,
            "next": [] if node is None else _next(node),
            "output_nr": tensor.output_nr if node is not None else 0,
            "retains_grad": tensor.retains_grad,
            "values": numbers(tensor),
            "grad": None if gradient is None else numbers(gradient),
        }


def _next(node: Any) -> list[Any]:
    return [(None if n is None else type(n).__name__, k) for n, k in node.next_functions]


def numbers(tensor: Any) -> Any:
    """A tensor's values as an array of their own."""
    return None if tensor is None else np.array(tensor.detach().numpy(), np.float64)


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.shape == b.shape and np.allclose(a, b, 1e-7, 1e-9, equal_nan=True)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_alike(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def _same_error(ours: BaseException | None, theirs: BaseException | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    same_type = isinstance(ours, type(theirs)) or type(ours).__name__ == type(theirs).__name__
    return same_type and str(ours)[:50] == str(theirs)[:50]
