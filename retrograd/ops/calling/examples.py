"""Functions that read elements, under `vmap`: they run once for each example of a batch.

An op runs on a batch by its batching rule. A function that looks at the elements themselves, to
find a size or to choose a way, has none; `by_example` gives it the loop.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from retrograd.above import above
from retrograd.engine.state import TRANSFORMS
from retrograd.tensor import Tensor


def level_in(values: Any) -> int:
    """The innermost vmap level of the tensors among some values and lists of values."""
    found = 0
    for value in values:
        if isinstance(value, Tensor):
            found = max(found, value._level)
        elif isinstance(value, (list, tuple)):
            found = max(found, level_in(value))
    return found


@above
def run_by_example(
    function: Callable[..., object],
    level: int,
    args: tuple[object, ...],
    options: dict[str, object],
) -> Any:
    """Call a function once for each example of a batch and stack the results."""
    raise NotImplementedError


@above
def like_batch(
    function: Callable[..., Tensor],
    input: Tensor,
    args: tuple[object, ...],
    options: dict[str, object],
) -> Any:
    """Call a function with the whole batch, as which its result counts."""
    raise NotImplementedError


def by_example(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function of tensors run once for each example where an argument is batched."""

    @functools.wraps(function)
    def guarded(*args: object, **options: object) -> Any:
        if TRANSFORMS.active:
            level = level_in((*args, *options.values()))
            if level:
                return run_by_example(guarded, level, args, options)
        return function(*args, **options)

    return guarded


def on_batch(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Let a function of one tensor, whose result is like it, run on the whole batch at once."""

    @functools.wraps(function)
    def guarded(input: Tensor, *args: object, **options: object) -> Any:
        if isinstance(input, Tensor) and input._level:
            return like_batch(guarded, input, args, options)
        return function(input, *args, **options)

    return guarded
