"""PyTorch's public names, module by module, and what became of each here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_LIST = Path(__file__).with_name("torch_names.txt")


@dataclass(frozen=True)
class Support:
    """What is known of one name: its status and, where it is not simply there, how or why."""

    module: str
    name: str
    status: str  # "supported", "differs" or "not"
    note: str = ""
    summary: str = ""  # the first line of its documentation


def public_names() -> dict[str, list[str]]:
    """PyTorch 2.13's public names by module; ``torch.Tensor`` and the like count as modules.

    >>> "saved_tensors_hooks" in public_names()["torch.autograd.graph"]
    True
    """
    return read_names(_LIST)


def read_names(path: Path) -> dict[str, list[str]]:
    """A list of names: ``[module]`` on a line, then its names."""
    found: dict[str, list[str]] = {}
    module = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            module = line.strip("[]")
            found[module] = []
        elif line and not line.startswith("#"):
            found[module].append(line)
    return found


def support(module: str, name: str) -> Support:
    """What became of a name of PyTorch's.

    >>> support("torch.autograd.graph", "increment_version").status
    'supported'
    """
    try:
        value = getattr(_place(module), name)
    except (ImportError, AttributeError):
        return Support(module, name, "not", "not there yet")
    summary = _summary(value)
    why = getattr(value, "__unsupported__", None)
    if why is not None:
        return Support(module, name, "not", f"raises: {why}")
    how = getattr(value, "__differs__", None)
    if how is not None:
        return Support(module, name, "differs", how, summary)
    return Support(module, name, "supported", "", summary)


def _place(module: str) -> Any:
    """The module or class of this library under PyTorch's name for it."""
    ours = "retrograd" + module.removeprefix("torch")
    try:
        return importlib.import_module(ours)
    except ImportError:
        outer, _, last = ours.rpartition(".")
        if not outer:
            raise
        return getattr(_place("torch" + outer.removeprefix("retrograd")), last)


def _summary(value: object) -> str:
    if isinstance(value, property):
        value = value.fget
    if value is None or isinstance(value, (set, frozenset, str, int, tuple)):
        return ""  # plain data has the text of its type, which tells nothing
    text: str = getattr(value, "__doc__", None) or ""
    return text.strip().split("\n\n")[0].replace("\n", " ").split("  ")[0].strip()
