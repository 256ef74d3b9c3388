"""Small helpers of layers that take one number or one for each dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[object], tuple[Any, ...]]:
    """A function that repeats a number `n` times, and takes a sequence as it is.

    >>> _ntuple(3)(1), _ntuple(3)([1, 2])
    ((1, 1, 1), (1, 2))
    """

    def parse(x: object) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[object], n: int) -> tuple[Any, ...]:
    """The elements in reverse, each `n` times: amounts as `functional.pad` takes them."""
    return tuple(element for element in reversed(t) for _ in range(n))


def _list_with_default(out_size: int | Sequence[int | None], defaults: Sequence[int]) -> Any:
    """The sizes, with those of the input where None leaves one open."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[len(defaults) - len(out_size) :]
    return [own if size is None else size for size, own in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a state dict, in place.

    What `DataParallel` saved loads into the module itself after this.

    >>> state = {"module.weight": 1, "step": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> sorted(state)
    ['step', 'weight']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    facts = getattr(state_dict, "_metadata", {})
    for key in list(facts):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            facts[key[len(prefix) :]] = facts.pop(key)
