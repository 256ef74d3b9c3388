"""Models from the network: nothing is downloaded here."""

from __future__ import annotations

import os
from typing import Any

from retrograd.compat.marks import unsupported
from retrograd.namespaces import missing

__all__ = [
    *("download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url"),
    "set_dir",
]

_WHY = "nothing is downloaded; fetch the file yourself and read it with torch.load"
_folder: dict[str, str] = {}

download_url_to_file = unsupported("torch.hub.download_url_to_file", _WHY)
load_state_dict_from_url = unsupported("torch.hub.load_state_dict_from_url", _WHY)
load = unsupported("torch.hub.load", _WHY)
list = unsupported("torch.hub.list", _WHY)
help = unsupported("torch.hub.help", _WHY)


def get_dir() -> str:
    """The folder where PyTorch keeps downloaded models."""
    if "set" in _folder:
        return _folder["set"]
    cache = os.getenv("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    home = os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch")))
    return os.path.join(home, "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder that `get_dir` names."""
    _folder["set"] = os.path.expanduser(os.fspath(d))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
