"""Containers of modules."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

from retrograd.nn.module import Module


class Sequential(Module):
    """Modules applied one after the other.

    >>> import retrograd as torch
    >>> len(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU()))
    2
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def _items(self) -> list[Module]:
        return [module for module in self._modules.values() if module is not None]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        try:
            return self._items()[index]
        except IndexError:
            raise IndexError(f"index {index} is out of range") from None

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[index], module)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._items())

    def append(self, module: Module) -> Sequential:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)  # type: ignore[misc]
        return input
