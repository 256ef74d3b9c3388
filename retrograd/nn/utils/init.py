"""Making a module without drawing initial values."""

from __future__ import annotations

import inspect

from retrograd.nn.module import Module
from retrograd.random.state import fork_rng

__all__ = ["skip_init"]


def skip_init(module_cls: type[Module], *args: object, **kwargs: object) -> Module:
    """``module_cls(*args, **kwargs)`` with any values: the random numbers that follow are the same.

    >>> _ = torch.manual_seed(0)
    >>> layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 2)
    >>> torch.rand(1)
    tensor([0.4963])
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    # There is no device without memory to make it on: it is made as usual, with numbers that are
    # then not counted as drawn.
    with fork_rng():
        return module_cls(*args, **kwargs)
