"""`status_of`: what became of one name of PyTorch's, by its full path."""

from __future__ import annotations

import importlib
import types
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from retrograd.compat.names import public_names, read_names

_HERE = Path(__file__).parent
STATUSES = ("works", "differs", "refuses", "absent")


@dataclass(frozen=True)
class Status:
    """What is known of a name: "works", "differs", "refuses" (raises when used) or "absent"."""

    status: str
    note: str = ""


@dataclass(frozen=True)
class Group:
    """Names that are absent for one reason: patterns of full names, and what to do instead."""

    title: str
    reason: str
    patterns: tuple[str, ...]


@cache
def api_names() -> dict[str, list[str]]:
    """PyTorch 2.13's public names by module, beyond autograd's; "modules" lists modules by path.

    >>> "hann_window" in api_names()["torch"]
    True
    """
    return read_names(_HERE / "api_names.txt")


@cache
def absent_groups() -> list[Group]:
    """The groups of names that are not there, in the order of the file that lists them."""
    found: list[Group] = []
    title, reason, patterns = "", "", [""]
    for line in (_HERE / "absent.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            title, _, reason = line[1:].partition("] ")
            patterns = []
        elif line and not line.startswith("#"):
            patterns += line.split()
        elif not line and title:
            found.append(Group(title, reason, tuple(patterns)))
            title = ""
    if title:
        found.append(Group(title, reason, tuple(patterns)))
    return found


def group_of(path: str) -> Group | None:
    """The group of absent names that a full name belongs to; that of its module if need be.

    >>> group_of("torch.ScriptObject.save").title
    'TorchScript'
    """
    while path and path != "torch":
        for group in absent_groups():
            if any(fnmatchcase(path, pattern) for pattern in group.patterns):
                return group
        path = path.rpartition(".")[0]
    return None


def absence(path: str) -> str | None:
    """Why a name of PyTorch's is not there, in words for an error; None if nothing is known.

    >>> absence("torch.sym_constrain_range")
    'sizes are plain integers (symbolic shapes)'
    """
    group = group_of(path)
    if group is not None:
        return f"{group.reason} ({group.title})"
    module, _, name = path.rpartition(".")
    if name in api_names().get(module, ()) or name in public_names().get(module, ()):
        return "it is a public name of PyTorch 2.13 that retrograd does not have yet"
    return None


def status_of(path: str) -> Status:
    """What became of the name of PyTorch's with this full path.

    >>> status_of("torch.nn.Linear")
    Status(status='works', note='')
    >>> status_of("torch.sym_constrain_range").status
    'absent'
    >>> status_of("torch.Tensor.to_mkldnn").status
    'refuses'
    """
    if path != "torch" and not path.startswith("torch."):
        raise ValueError(f"status_of() expects a name such as 'torch.nn.Linear', not {path!r}")
    try:
        value = resolve(path)
    except (ImportError, AttributeError):
        return Status("absent", _why_absent(path))
    if isinstance(value, types.ModuleType) and not _is_known(path):
        return Status("absent", _why_absent(path))  # a module of our own under this name
    target = value.fget if isinstance(value, property) else value
    why = vars_of(target, "__unsupported__")
    if why is not None:
        return Status("refuses", why)
    how = vars_of(target, "__differs__") or _difference(path)
    return Status("works") if how is None else Status("differs", how)


@cache
def listed_differences() -> dict[str, str]:
    """What differs by the file that lists it: patterns of full names, and how."""
    found = {}
    for line in (_HERE / "differs.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            patterns, _, how = line.partition("  ")
            found.update(dict.fromkeys(patterns.split(), how))
    return found


def _difference(path: str) -> str | None:
    for pattern, how in listed_differences().items():
        if fnmatchcase(path, pattern):
            return how
    return None


def vars_of(value: object, name: str) -> Any:
    """A mark on a value itself: instances and subclasses do not have those of their class."""
    try:
        return vars(value).get(name)
    except TypeError:
        return None


def resolve(path: str) -> object:
    """The thing of this library under PyTorch's full name; raises if there is none.

    >>> resolve("torch.float32")
    torch.float32
    """
    place: object = importlib.import_module("retrograd")
    for name in path.split(".")[1:]:
        try:
            place = getattr(place, name)
        except AttributeError:
            if not isinstance(place, types.ModuleType):
                raise
            place = importlib.import_module(f"{place.__name__}.{name}")
    return place


@cache
def _known_modules() -> frozenset[str]:
    listed = {*api_names(), *public_names(), *api_names()["modules"]}
    outer = {path.rpartition(".")[0] for path in listed}
    return frozenset(listed | outer)


def _is_known(path: str) -> bool:
    module, _, name = path.rpartition(".")
    return path in _known_modules() or name in api_names().get(module, ())


def _why_absent(path: str) -> str:
    group = group_of(path)
    if group is not None:
        return group.reason
    module, _, name = path.rpartition(".")
    if _is_known(path) or name in public_names().get(module, ()):
        return "not there yet"
    return "not there; it is not in the list of PyTorch 2.13's public names either"
