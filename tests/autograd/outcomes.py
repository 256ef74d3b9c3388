"""Run one scenario with PyTorch and with retrograd and compare everything it observed.

A scenario is a function of the library and of a `Log`. What it logs is made comparable: tensors
become their values and facts, exceptions their type and first line. An exception that leaves the
scenario, and the warnings it caused, are part of the outcome.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import retrograd


class Log:
    """What a scenario observed, in comparable form."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self.lines: list[int] = []

    def add(self, entry: Any) -> None:
        """Add an entry, and the line of the scenario that it comes from."""
        frame = sys._getframe(1)
        while frame.f_code.co_filename == __file__ and frame.f_back is not None:
            frame = frame.f_back
        self.entries.append(entry)
        self.lines.append(frame.f_lineno)

    def __call__(self, *values: Any) -> None:
        self.add(tuple(plain(value) for value in values))

    def attempt(self, function: Callable[[], Any]) -> Any:
        """Log the result of a call, or its exception, and go on."""
        try:
            result = function()
        except Exception as error:
            self.add(failure(error))
            return None
        self(result)
        return result

    def facts(self, *tensors: Any) -> None:
        """Log everything that a program can see of tensors."""
        for tensor in tensors:
            self.add(facts(tensor))

    def facts_of(self, function: Callable[[], Any], *, without: str = "") -> None:
        """Log the facts of a call's result, or its exception."""
        try:
            result = function()
        except Exception as error:
            self.add(failure(error))
            return
        found = facts(result) if hasattr(result, "detach") else {"result": plain(result)}
        self.add({name: value for name, value in found.items() if name != without})


def facts(tensor: Any) -> dict[str, Any]:
    """Everything that a program can see of a tensor."""
    names = ("requires_grad", "is_leaf", "_version", "grad_fn", "output_nr")
    found = {name: _read(tensor, name) for name in names}
    found["inference"] = tensor.is_inference()
    found["view"] = tensor._is_view()
    found["values"] = tensor.data.tolist()
    return found


def _read(tensor: Any, name: str) -> Any:
    try:
        found = getattr(tensor, name)
    except RuntimeError as error:
        return failure(error)
    return type(found).__name__ if name == "grad_fn" else found


def failure(error: BaseException) -> tuple[str, str]:
    """The type and the first line of an exception."""
    return type(error).__name__, str(error).strip().split("\n")[0]


def plain(value: Any) -> Any:
    """A value without the library that made it."""
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if hasattr(value, "detach"):
        values = value.detach().data.tolist()
        return str(value.dtype), tuple(value.shape), value.requires_grad, values
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        return value
    return type(value).__name__


# Which scenario of a process hears these depends on what ran before it.
SAID_ONCE = ("Casting complex values to real discards", "Using backward() with create_graph=True")


def outcome(library: Any, scenario: Callable[[Any, Log], Any]) -> dict[str, Any]:
    """Run a scenario with one library."""
    log = Log()
    error = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.manual_seed(0)
        try:
            log(scenario(library, log))
        except Exception as raised:
            error = failure(raised)
    said = [
        (w.category.__name__, str(w.message).split("\n")[0].split(" (Triggered internally")[0])
        for w in caught
        # PyTorch about itself, at its first forward mode
        if "torch.jit" not in str(w.message) and not str(w.message).startswith(SAID_ONCE)
    ]
    return {"log": log.entries, "error": error, "warnings": said, "lines": log.lines}


def assert_same(scenario: Callable[[Any, Log], Any], torch: Any) -> dict[str, Any]:
    """Both libraries must observe the same; returns what it was."""
    theirs, ours = outcome(torch, scenario), outcome(retrograd, scenario)
    pairs = zip_longest(_rounded(theirs["log"]), _rounded(ours["log"]), ours["lines"])
    differences = [
        "line {}:\n  torch {}\n  ours  {}".format(line, *_differing(a, b))
        for a, b, line in pairs
        if a != b
    ]
    for name in ("error", "warnings"):
        if theirs[name] != ours[name]:
            differences.append(f"{name}:\n  torch {theirs[name]}\n  ours  {ours[name]}")
    assert not differences, "\n".join(differences[:20])
    return ours


def _differing(a: Any, b: Any) -> tuple[Any, Any]:
    """Two entries that differ, shortened to where they do."""
    if not isinstance(a, dict) or not isinstance(b, dict):
        return a, b
    names = [name for name in a if a[name] != b.get(name)]
    return {name: a[name] for name in names}, {name: b.get(name) for name in names}


def _rounded(value: Any) -> Any:
    """Numbers rounded to six digits: float32 has seven."""
    if isinstance(value, (tuple, list)):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {name: _rounded(item) for name, item in value.items()}
    if isinstance(value, complex):
        return complex(_rounded(value.real), _rounded(value.imag))
    return float(f"{value:.6g}") if isinstance(value, float) else value
