"""Put a function in place of another for a while, so that it can be watched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Undo = Callable[[], None]


def replaced(owner: Any, name: str, function: Callable[..., object]) -> Undo:
    """Make `function` the attribute `name` of a class or module; the result puts it back.

    TorchScript compiles the text of the function that this one stands for, and `inspect.signature`
    shows its arguments.

    >>> class Clock:
    ...     def read(self):
    ...         return 1
    >>> undo = replaced(Clock, "read", lambda self: 2)
    >>> Clock().read(), undo(), Clock().read()
    (2, None, 1)
    """
    before = vars(owner).get(name)
    functools.update_wrapper(function, getattr(owner, name))
    setattr(owner, name, function)

    def undo() -> None:
        if before is None:
            delattr(owner, name)
        else:
            setattr(owner, name, before)

    return undo
