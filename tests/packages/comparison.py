"""How a program's prints on two libraries compare: the text exactly, decimal numbers nearly."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import NamedTuple

DECIMAL = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")


class Comparison(NamedTuple):
    """What was found: how many numbers, the largest difference, the first lines that differ."""

    numbers: int
    largest: float
    unequal: tuple[str, str] | None


def compared(ours: str, theirs: str) -> Comparison:
    """Compare what was printed, line by line.

    Numbers with a decimal point are losses and the like: what counts is how far they are apart, as
    a part of PyTorch's where that is above one. Everything else, whole numbers too, has to be the
    same.

    >>> compared("loss 0.5002 [3]", "loss 0.5 [3]")
    Comparison(numbers=1, largest=0.0002, unequal=None)
    """
    numbers, largest, unequal = 0, 0.0, None
    for our_line, their_line in zip_longest(ours.splitlines(), theirs.splitlines(), fillvalue=""):
        if DECIMAL.sub("#", our_line) != DECIMAL.sub("#", their_line):
            unequal = unequal or (our_line, their_line)
            continue
        pairs = zip(DECIMAL.findall(our_line), DECIMAL.findall(their_line), strict=True)
        for our_number, their_number in pairs:
            value, wanted = float(our_number), float(their_number)
            numbers += 1
            largest = max(largest, round(abs(value - wanted) / max(1.0, abs(wanted)), 9))
    return Comparison(numbers, largest, unequal)
