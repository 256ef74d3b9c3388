"""Mistakes that only a kernel sees: a class or an index that is outside.

PyTorch's kernels stop the program's whole work with the device. Here they write the first mistake
down, in memory of the host that both can see, and whoever waits for the device next raises it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_KINDS = {1: "Target {} is out of bounds.", 2: "index out of range in self"}


class Faults:
    """What kernels of one process wrote down.

    address  where they write: the kind of mistake, and the number that is wrong
    """

    def __init__(self, cupy: Any) -> None:
        self._memory: Any = cupy.cuda.alloc_pinned_memory(16)
        self._held = np.frombuffer(self._memory, np.int64, 2)
        self._held[:] = 0
        self.address: int = self._memory.ptr

    def check(self) -> None:
        """Raise for a mistake that was made; the device must have come to an end before."""
        kind = int(self._held[0])
        if kind:
            text = _KINDS[kind].format(int(self._held[1]))
            self._held[:] = 0
            raise IndexError(text)
