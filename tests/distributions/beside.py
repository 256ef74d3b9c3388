"""Distributions of both libraries side by side: the same arguments, seed and questions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import retrograd

LIBRARIES = (torch, retrograd)


class Case:
    """One distribution: its name, its arguments (lists become tensors), points to look at."""

    def __init__(self, name: str, values: Any, label: str = "", **arguments: Any) -> None:
        self.name = name
        self.values = values
        self.arguments = arguments
        self.label = f"{name}-{label}" if label else name

    def arguments_in(self, library: Any, dtype: str, requires_grad: bool = False) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in self.arguments.items():
            if isinstance(value, list):
                kind = getattr(library, dtype)
                made[name] = library.tensor(value, dtype=kind, requires_grad=requires_grad)
            else:
                made[name] = value
        return made

    def build(self, library: Any, dtype: str = "float64", **more: Any) -> Any:
        family = getattr(library.distributions, self.name)
        return family(**self.arguments_in(library, dtype), **more)

    def points(self, library: Any, dtype: str = "float64") -> Any:
        if not any(isinstance(value, list) for value in self.arguments.values()):
            dtype = "float32"  # of a distribution made from numbers
        if self.name == "Categorical":
            dtype = "int64"
        return library.tensor(self.values, dtype=getattr(library, dtype))


def plain(value: Any) -> Any:
    """A result as something that can be compared: tensors as arrays, errors as their first line."""
    if isinstance(value, LIBRARIES[0].Tensor | LIBRARIES[1].Tensor):
        return str(value.dtype), tuple(value.shape), value.detach().numpy()
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return str(value) if not isinstance(value, int | float | bool) else value


def outcome(question: Callable[[Any], Any], library: Any) -> Any:
    """What a question gives in one library: a plain result, or the error's type and first line."""
    try:
        return plain(question(library))
    except Exception as error:
        lines = str(error).splitlines() or [""]
        return "error", type(error).__name__, lines[0].replace("'retrograd.", "'torch.")


# What rounding costs, by dtype: relative and absolute. Draws of most families agree bit for bit;
# `LAST_PLACES` is for those made with functions that round their last bit differently. PyTorch's
# trigamma, which most gradients of gamma functions need, has no more than ten digits.
Tolerance = dict[str, tuple[float, float]]
EXACT: Tolerance = {}
LAST_PLACES: Tolerance = {"torch.float32": (4e-7, 0.0), "torch.float64": (1e-15, 0.0)}
ROUNDING: Tolerance = {"torch.float32": (2e-5, 2e-6), "torch.float64": (1e-9, 1e-12)}
TEN_DIGITS: Tolerance = {"torch.float32": (2e-5, 2e-6), "torch.float64": (3e-8, 1e-9)}


def same(theirs: Any, ours: Any, tolerance: Tolerance) -> None:
    """Assert that two plain results agree."""
    if isinstance(theirs, list):
        assert isinstance(ours, list) and len(ours) == len(theirs), (theirs, ours)
        for left, right in zip(theirs, ours, strict=True):
            same(left, right, tolerance)
    elif isinstance(theirs, tuple) and isinstance(theirs[-1], np.ndarray):
        assert ours[:2] == theirs[:2], (theirs, ours)
        relative, absolute = tolerance.get(theirs[0], (0.0, 0.0))
        np.testing.assert_allclose(ours[2], theirs[2], rtol=relative, atol=absolute)
    else:
        assert ours == theirs, (theirs, ours)


def compare(question: Callable[[Any], Any], tolerance: Tolerance = ROUNDING) -> tuple[Any, Any]:
    """Ask both libraries and assert that the answers agree; returns them."""
    theirs, ours = (outcome(question, library) for library in LIBRARIES)
    same(theirs, ours, tolerance)
    return theirs, ours
