"""The public modules: functions that say where they are, and an answer for missing names."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any

from retrograd.above import above
from retrograd.core import at


def published(functions: dict[str, object], module: str) -> dict[str, Any]:
    """The functions of a public module, each knowing a place where it is found.

    An op's function stands in no file under its own name. Pickles name functions by their place,
    and a model may well hold one (``self.activation = torch.nn.functional.relu``).

    >>> import pickle, retrograd as torch
    >>> pickle.loads(pickle.dumps(torch.nn.functional.relu)) is torch.nn.functional.relu
    True
    """
    space = module.partition(".")[2] or "torch"
    for name, function in functions.items():
        if isinstance(function, FunctionType):
            place = sys.modules.get(function.__module__)
            if getattr(place, "__dict__", {}).get(function.__qualname__) is not function:
                function.__module__ = module
                function.__qualname__ = name
            functions[name] = at(function, f"{space}.{name}", module, name)
    return functions


Finder = Callable[[str], Any]
Lister = Callable[[], list[str]]


def on_first_use(
    package: str, places: dict[str, str], modules: str = ""
) -> tuple[list[str], Finder, Lister]:
    """The ``__all__``, ``__getattr__`` and ``__dir__`` of a package that imports when asked.

    places   its public names, by the module that defines them: one inside it, or a full path;
             ``public=own`` where it has another name there
    modules  modules inside it that are found without an import of their own

    A name must not be that of a module inside the package too: importing the module would put it
    in the name's place. Such a name is imported at once.

    >>> everything, find, _ = on_first_use("retrograd.optim", {"sgd": "SGD"}, "swa_utils")
    >>> find("SGD").__name__, everything
    ('SGD', ['SGD', 'swa_utils'])
    """
    inside = dict.fromkeys(modules.split(), ("", ""))
    for place, names in places.items():
        for entry in names.split():
            public, _, own = entry.partition("=")
            inside[public] = place, own or public

    def find(name: str) -> Any:
        if name not in inside:
            return in_table(package, name)
        place, own = inside[name]
        if not place.startswith("retrograd."):
            place = f"{package}.{place or name}"
        found: object = import_module(place)
        if own:
            found = getattr(found, own)
        setattr(sys.modules[package], name, found)
        return found

    def known() -> list[str]:
        return sorted({*vars(sys.modules[package]), *inside})

    return sorted(inside), find, known


def from_table(module: str) -> None:
    """Give a public module its ``__getattr__``: what the table of names has for it, or an error.

    The table (`namespaces/table/`) holds what is there for its name only: refusals with their
    reason, settings that change nothing, aliases. (Of a module whose file defines ``__getattr__``,
    type checkers would believe every name.)
    """
    vars(sys.modules[module])["__getattr__"] = partial(in_table, module)


def in_table(module: str, name: str) -> Any:
    """What the table has for one name of a public module, or an error."""
    from retrograd.namespaces.finder import find_in_table

    return find_in_table(sys.modules[module], name)


class _Missing(AttributeError):
    """Says what is missing when it is read: programs ask with `hasattr`, and throw it away."""

    def __init__(self, module: str, name: str, known: Iterable[str]) -> None:
        super().__init__()
        self.question = module, name, known

    def __str__(self) -> str:
        return _absence(*self.question)

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        return AttributeError, (str(self),)


# what a program sees of its type
_Missing.__name__ = _Missing.__qualname__ = "AttributeError"
_Missing.__module__ = "builtins"


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """An error that names what is missing and what comes near.

    >>> print(missing("retrograd", "zeroes", ["zeros", "ones"]))
    module 'retrograd' has no attribute 'zeroes'. Did you mean: 'zeros'?
    >>> str(missing("retrograd", "sym_constrain_range", [])).partition(": ")[2]
    'sizes are plain integers (symbolic shapes)'
    """
    return _Missing(module, name, known)


@above
def absence(name: str) -> str | None:
    """Why a name of PyTorch's is not there, where that was decided."""
    raise NotImplementedError


def _absence(module: str, name: str, known: Iterable[str]) -> str:
    text = f"module '{module}' has no attribute '{name}'"
    if name.startswith("_"):
        return text
    why = absence(f"torch{module.removeprefix('retrograd').removeprefix('torch')}.{name}")
    if why is not None:
        return f"{text}: {why}"
    from difflib import get_close_matches

    near = get_close_matches(name, [n for n in known if not n.startswith("_")], 3, 0.75)
    if near:
        return f"{text}. Did you mean: {', '.join(map(repr, near))}?"
    return f"{text}: it is not a public name of PyTorch 2.13 either"
