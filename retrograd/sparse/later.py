"""Modules that are imported when something of them is used: most programs have no sparse tensor."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Later:
    """Stands for a module of this package until an attribute of it is asked for.

    >>> Later("checking").__class__.__name__
    'Later'
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = f"retrograd.sparse.{name}"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(import_module(self._name), name)
