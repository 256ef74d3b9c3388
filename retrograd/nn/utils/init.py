"""Making a module without drawing initial values."""

from __future__ import annotations

import inspect
from typing import Any

from retrograd.nn.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: Any, **kwargs: Any) -> Module:
    """``module_cls(*args, **kwargs)`` with any values: no random numbers are drawn.

    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    place = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=place)
