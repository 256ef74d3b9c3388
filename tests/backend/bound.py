"""The functions of a module of `backend.neutral` as tests call them: with NumPy's `xp` given."""

import inspect
from functools import partial
from types import SimpleNamespace

from retrograd.backend import CPU


def bound(module):
    """Every function of a module that takes `xp` first, without that argument; the others too."""
    found = {}
    for name, function in inspect.getmembers(module, inspect.isfunction):
        takes = next(iter(inspect.signature(function).parameters), None) == "xp"
        found[name] = partial(function, CPU.xp) if takes else function
    return SimpleNamespace(**found)
