"""The members of a module of `backend.neutral` as tests call them: with NumPy's `xp` given."""

import inspect
from functools import partial
from types import SimpleNamespace

from retrograd.backend import CPU


def bound(module):
    """The members of a module; its functions that take `xp` first, without that argument."""
    found = dict(vars(module))
    for name, function in inspect.getmembers(module, inspect.isfunction):
        if next(iter(inspect.signature(function).parameters), None) == "xp":
            found[name] = partial(function, CPU.xp)
    return SimpleNamespace(**found)
