"""The public modules: functions that say where they are, and an answer for missing names."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType
from typing import Any


def published(functions: dict[str, Any], module: str) -> dict[str, Any]:
    """The functions of a public module, each knowing a place where it is found.

    An op's function stands in no file under its own name. Pickles name functions by their place,
    and a model may well hold one (``self.activation = torch.nn.functional.relu``).

    >>> import pickle, retrograd as torch
    >>> pickle.loads(pickle.dumps(torch.nn.functional.relu)) is torch.nn.functional.relu
    True
    """
    for name, function in functions.items():
        if isinstance(function, FunctionType):
            place = sys.modules.get(function.__module__)
            if getattr(place, "__dict__", {}).get(function.__qualname__) is not function:
                function.__module__ = module
                function.__qualname__ = name
    return functions


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """An error that names what is missing and what comes near.

    >>> missing("retrograd", "zeroes", ["zeros", "ones"]).args[0]
    "module 'retrograd' has no attribute 'zeroes'. Did you mean: 'zeros'?"
    >>> print(missing("retrograd", "SymInt", []))
    module 'retrograd' has no attribute 'SymInt': sizes are plain integers (symbolic shapes)
    """
    text = f"module '{module}' has no attribute '{name}'"
    if name.startswith("_"):
        return AttributeError(text)
    from retrograd.compat.status import absence

    why = absence(f"torch{module.removeprefix('retrograd').removeprefix('torch')}.{name}")
    if why is not None:
        return AttributeError(f"{text}: {why}")
    from difflib import get_close_matches

    near = get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.75)
    if near:
        quoted = ", ".join(repr(n) for n in near)
        return AttributeError(f"{text}. Did you mean: {quoted}?")
    return AttributeError(f"{text}: it is not a public name of PyTorch 2.13 either")
