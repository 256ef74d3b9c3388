"""OptimizedModule: what `torch.compile` makes of a module. It runs the module as it is written."""

from __future__ import annotations

from typing import Any

from retrograd.nn.module import Module

# what the wrapper keeps for itself; everything else is the module's
_OWN = frozenset(["_orig_mod", "forward", "training"])


class OptimizedModule(Module):
    """A module around the one that was compiled, which is its `_orig_mod`.

    Parameters have the same names as in PyTorch, so checkpoints can be exchanged. Other attributes
    are read from and written to the module itself.

    >>> model = torch.compile(torch.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['_orig_mod.weight', '_orig_mod.bias']
    >>> model.in_features
    2
    """

    _orig_mod: Module

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self.__dict__.pop("training", None)  # the property's place
        self._modules["_orig_mod"] = mod

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self._orig_mod(*args, **kwargs)

    @property
    def training(self) -> bool:
        """Whether the module is in training mode."""
        return self._orig_mod.training

    @training.setter
    def training(self, mode: bool) -> None:
        if "_orig_mod" in self._modules:
            self._orig_mod.training = mode

    def __getattr__(self, name: str) -> Any:
        if name in ("_orig_mod", "_modules"):
            return super().__getattr__(name)
        return getattr(self._orig_mod, name)

    def __setattr__(self, name: str, value: object) -> None:
        if name in _OWN or name in self.__dict__ or hasattr(type(self), name):
            super().__setattr__(name, value)
        elif "_modules" not in self.__dict__:  # the constructor is running
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        if name in _OWN or name in self.__dict__ or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._orig_mod, name)

    def __len__(self) -> int:
        if hasattr(type(self._orig_mod), "__len__"):
            return len(self._orig_mod)
        raise TypeError(f"{type(self._orig_mod).__name__} does not support len()")

    def __dir__(self) -> list[str]:
        return [*dict.fromkeys([*self._orig_mod.__dir__(), *super().__dir__()])]

    def __reduce__(self) -> tuple[type[OptimizedModule], tuple[Module]]:
        return (type(self), (self._orig_mod,))
