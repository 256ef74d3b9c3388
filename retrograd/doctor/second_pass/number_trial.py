"""Second pass, question "does the loss depend on this number": it is changed, and compared.

A Python number carries no mark. So the program runs once more with the numbers that one line takes
out of tensors changed a little: if what is sent back has other values then, the loss was computed
from them. Both runs begin with the same seeds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np

SCALE, SHIFT = 1.03, 0.011  # enough to be seen behind a rounding to two digits


@dataclass(frozen=True)
class NumberTrial:
    """One run of that kind."""

    at: list[object] | None  # file and line whose numbers are changed; None: nothing is
    values: list[float]  # what was sent back in the run without a change

    def given(self, stack: list[list[object]], result: object) -> object:
        """What the program gets instead of a number, a list or an array."""
        if self.at is None or not stack or stack[-1][:2] != self.at:
            return result
        return changed(result)

    def differs(self, values: list[float]) -> bool:
        """Whether the newest of the values is another one than it was."""
        position = len(values) - 1
        # as text, so that NaN is like NaN
        return position < len(self.values) and repr(values[-1]) != repr(self.values[position])


def changed(value: object) -> object:
    """A value with all its real numbers changed; whole numbers stay: they count or choose.

    >>> changed([1.0, 2, "a"])
    [1.041, 2, 'a']
    """
    if isinstance(value, float):
        return value * SCALE + SHIFT
    if isinstance(value, list):
        return [changed(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return (value * SCALE + SHIFT).astype(value.dtype)
    return value


def seed(torch: Any) -> None:
    """The same random numbers in each run, whether the program sets a seed or not."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
