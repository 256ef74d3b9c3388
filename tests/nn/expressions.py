"""Expressions that are evaluated with both libraries: values, errors and warnings must agree.

In an expression ``t`` is the library, ``nn`` and ``F`` its parts; ``r(2, 3)`` is a tensor of
that shape with fixed values between -1 and 1 in float64, ``f(2, 3)`` the same in float32,
``i(5, 2, 3)`` one of integers below 5,
``d(function, *tensors)`` gives the result, the gradients, and the gradients of their squares, and
``d1`` the same without the last, for what PyTorch differentiates only once.
"""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np

import retrograd


def _values(lib: Any, *shape: int, dtype: str = "float64") -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    numbers = np.sin(np.arange(1, count + 1) * 1.7 + len(shape)).reshape(shape)
    return lib.tensor(numbers).to(getattr(lib, dtype))


def _integers(lib: Any, high: int, *shape: int) -> Any:
    count = int(np.prod(shape, dtype=np.int64))
    return lib.tensor((np.arange(count) * 7 + 3) % high).reshape(shape)


def _derivatives(lib: Any, function: Any, *tensors: Any, second: bool = True) -> list[Any]:
    """The results, the gradients of their weighted sum, and those of the gradients' squares."""
    leaves = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    results = function(*leaves)
    found = list(results) if isinstance(results, tuple) else [results]
    loss = sum(
        (
            out * (lib.arange(1.0, out.numel() + 1).to(out.dtype) * 0.7).sin().reshape(out.shape)
        ).sum()
        for out in found
        if out.requires_grad
    )
    first = lib.autograd.grad(loss, leaves, create_graph=second, allow_unused=True)
    total = sum((g * g).sum() for g in first if g is not None and g.requires_grad)
    # Whether a gradient that is a constant has a graph of its own says nothing.
    first = [None if g is None else g.detach() for g in first]
    if not second:
        return [found, first]
    constant = isinstance(total, int)
    again = (
        [None] * len(leaves) if constant else lib.autograd.grad(total, leaves, allow_unused=True)
    )
    # No gradient and one of zeros mean the same.
    zeros = [lib.zeros_like(x) if g is None else g for x, g in zip(leaves, again, strict=True)]
    return [found, first, zeros]


def evaluate(lib: Any, text: str) -> Any:
    """What an expression gives, or the type and first line of its error; and the warnings."""
    names = {
        "t": lib,
        "nn": lib.nn,
        "F": lib.nn.functional,
        "r": lambda *shape, **options: _values(lib, *shape, **options),
        "f": lambda *shape: _values(lib, *shape, dtype="float32"),
        "i": lambda high, *shape: _integers(lib, high, *shape),
        "d": lambda function, *tensors: _derivatives(lib, function, *tensors),
        "d1": lambda function, *tensors: _derivatives(lib, function, *tensors, second=False),
        "deepcopy": copy.deepcopy,
        "repickled": lambda value: pickle.loads(pickle.dumps(value)),
    }
    lib.manual_seed(5)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = plain(eval(text, names))
        except Exception as error:
            first_line = str(error).strip().split("\n")[0]
            found = [type(error).__name__, _renamed(first_line)]
    said = [
        (w.category.__name__, str(w.message).split("\n")[0].split(" (Triggered internally")[0])
        for w in caught
        if not str(w.message).startswith(SAID_ONCE)
    ]
    return found, said


# PyTorch says these once in a process, so which test hears them depends on their order
SAID_ONCE = ("Using padding='same' with even kernel lengths", "Casting complex values to real")


def _renamed(text: str) -> str:
    """A message without the places where the libraries keep their classes."""
    return text.replace("retrograd.", "torch.").replace("torch.nn.modules.", "torch.nn.")


def plain(value: Any) -> Any:
    """A result without the library that made it."""
    if hasattr(value, "detach"):
        array = value.detach().clone()  # PyTorch's tensors of symbolic zeros have no array
        numbers = array.double() if array.is_floating_point() else array
        return str(value.dtype), value.requires_grad, numbers.numpy()
    if isinstance(value, dict):
        return [[key, plain(item)] for key, item in value.items()]
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return type(value).__name__


def difference(ours: Any, theirs: Any, path: str = "") -> str | None:
    """Where two results first differ (numbers by more than rounding) and how; None if nowhere."""
    if isinstance(ours, np.ndarray) and isinstance(theirs, np.ndarray):
        if ours.shape != theirs.shape:
            return f"{path}.shape: torch {theirs.shape}, ours {ours.shape}"
        if np.allclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True):
            return None
        return f"{path}: torch {theirs.ravel()[:6]}, ours {ours.ravel()[:6]}"
    if isinstance(ours, (list, tuple)) and isinstance(theirs, (list, tuple)):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            found = difference(one, other, f"{path}[{place}]")
            if found is not None:
                return found
        return None if len(ours) == len(theirs) else f"{path}: torch {theirs}, ours {ours}"
    if isinstance(ours, float) and isinstance(theirs, float):
        if np.isclose(ours, theirs, rtol=1e-6, atol=1e-6, equal_nan=True):
            return None
    elif type(ours) is type(theirs) and ours == theirs:
        return None
    return f"{path}: torch {theirs}, ours {ours}"


def assert_alike(torch: Any, text: str) -> None:
    """Evaluate an expression with both libraries."""
    found = difference(evaluate(retrograd, text), evaluate(torch, text))
    assert found is None, f"{text}\n  {found}"


def lines(table: str) -> list[str]:
    """The expressions of a table, one in a line; a line further to the right continues one."""
    found: list[str] = []
    for line in table.strip("\n").split("\n"):
        if line.startswith("        "):
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line.strip())
    return found
