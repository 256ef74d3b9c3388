"""Iterators that have nothing left, told without taking anything from them."""

from __future__ import annotations

import inspect
import itertools
import warnings

ASKED = (filter, map, itertools.chain)


def is_used_up(thing: object) -> bool:
    """Whether an iterator was gone through before; one that never had anything is not.

    >>> numbers = (number for number in [1, 2])
    >>> is_used_up(numbers), sum(numbers), is_used_up(numbers)
    (False, 3, True)
    >>> is_used_up(filter(None, numbers)), is_used_up(filter(None, [0])), is_used_up([])
    (True, False, False)
    """
    if inspect.isgenerator(thing):
        return thing.gi_frame is None
    if not isinstance(thing, ASKED):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # copying iterators is deprecated
        parts = thing.__reduce__()
    if isinstance(thing, itertools.chain):
        # one that is used up has forgotten what it was made of
        return len(parts) == 2 and not parts[1]
    sources = parts[1][1:]
    return any(is_used_up(source) for source in sources)


def groups_used_up(given: object) -> int:
    """How many groups of what an optimizer is given have nothing left.

    >>> weights = iter(filter(None, [1.0]))
    >>> groups_used_up([{"params": [2.0]}, {"params": weights}]), groups_used_up(weights)
    (0, 0)
    """
    groups = given if isinstance(given, (list, tuple)) else []
    return sum(isinstance(group, dict) and is_used_up(group.get("params")) for group in groups)
