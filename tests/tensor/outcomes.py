"""What an expression does, in a form that can be stored and compared: value, warnings or error."""

from __future__ import annotations

import copy
import math
import pickle
import warnings
from typing import Any

import numpy as np

# Where PyTorch adds these to a text, they are not part of what it says.
_TAILS = (" (Triggered internally at", "\n")


def first_line(text: str) -> str:
    """The part of a message that both libraries should have."""
    for tail in _TAILS:
        text = text.partition(tail)[0]
    return text.strip()


def describe(value: Any) -> Any:
    """A value as JSON: numbers and texts as they are, tensors with everything that can be seen."""
    if hasattr(value, "requires_grad") and hasattr(value, "grad_fn"):
        plain = value.detach()
        return {
            "tensor": repr(value),
            "values": describe(plain.tolist()),
            "stride": list(value.stride()),
        }
    if isinstance(value, np.ndarray):
        return {"array": repr(value)}
    if isinstance(value, (list, tuple)):
        return [describe(item) for item in value]
    if isinstance(value, dict):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, float):
        return repr(value)
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return repr(value)


def outcome(library: Any, setup: str, expression: str) -> dict[str, Any]:
    """Run `setup`, then evaluate `expression`, with `torch` standing for the library."""
    scope: dict[str, Any] = {
        "torch": library,
        "np": np,
        "copy": copy,
        "math": math,
        "pickle": pickle,
    }
    default = library.get_default_dtype()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            library.manual_seed(0)
            exec(setup, scope)
            caught.clear()
            try:
                value = eval(expression, scope)
                found: dict[str, Any] = {"value": describe(value)}
            except Exception as error:
                kind = next(k for k in type(error).__mro__ if k.__module__ == "builtins")
                found = {"error": [kind.__name__, first_line(str(error))]}
    finally:
        library.set_default_dtype(default)
    said: list[list[str]] = []
    for warning in caught:
        entry = [warning.category.__name__, first_line(str(warning.message))]
        # NumPy complains about PyTorch's `__array_wrap__`
        if entry not in said and "__array_wrap__" not in entry[1]:
            said.append(entry)
    if said:
        found["warnings"] = said
    return found
