"""Whether new memory is filled in deterministic programs.

``torch.empty`` and its relatives, and what `resize_` adds, are filled with nan, the largest
integer or True while `use_deterministic_algorithms` is on.

>>> torch.use_deterministic_algorithms(True)
>>> torch.empty(2)
tensor([nan, nan])
>>> torch.utils.deterministic.fill_uninitialized_memory = False
>>> torch.use_deterministic_algorithms(False)
>>> torch.utils.deterministic.fill_uninitialized_memory = True
"""

from __future__ import annotations

import sys
from types import ModuleType

from retrograd.ops.determinism import DETERMINISM

fill_uninitialized_memory: bool


class _Deterministic(ModuleType):
    """The module's own class, so that its setting is checked and takes effect at once."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether new memory is filled in a deterministic program."""
        return DETERMINISM.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(f"expected a bool, but got {type(mode).__name__}")
        DETERMINISM.fill = mode


sys.modules[__name__].__class__ = _Deterministic
