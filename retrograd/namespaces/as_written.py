"""What PyTorch's compiler would change: here functions run as they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, overload

from retrograd.notices import notice
from retrograd.signatures import F


def itself(found: F) -> F:
    """The function itself."""
    return found


def no_symbols(value: object) -> set[object]:
    """The unknowns in a size: none."""
    return set()


@overload
def disable(
    fn: None = None, recursive: bool = True, *, reason: object = None, wrapping: bool = True
) -> Callable[[F], F]: ...
@overload
def disable(
    fn: F, recursive: bool = True, *, reason: object = None, wrapping: bool = True
) -> F: ...
def disable(
    fn: object = None, recursive: bool = True, *, reason: object = None, wrapping: bool = True
) -> Any:
    """The function itself, which is never compiled; also a decorator.

    >>> torch._dynamo.disable(abs) is abs
    True
    """
    return itself if fn is None else fn


def optimize(*args: Any, **options: object) -> Callable[[F], F]:
    """A decorator that leaves the function as it is."""
    notice("torch._dynamo.optimize", "there is no compiler; the function runs as it is written")
    return itself


@overload
def decorated(fn: None = None, **options: object) -> Callable[[F], F]: ...
@overload
def decorated(fn: F, *args: object, **options: object) -> F: ...
def decorated(fn: object = None, *args: object, **options: object) -> Any:
    """The function itself; also a decorator."""
    return itself if fn is None else fn


def substitute_in_graph(original_fn: object, **options: object) -> Callable[[F], F]:
    """A decorator: the function it decorates would stand for another in a graph; there is none."""
    return itself


@contextmanager
def set_stance(*args: object, **options: object) -> Iterator[None]:
    """The context in which compiled functions are used in another way: there are none."""
    yield


@contextmanager
def error_on_graph_break(error_on_graph_break: bool) -> Iterator[None]:
    """The context in which leaving a graph is an error: there is no graph."""
    yield


class TransformGetItemToIndex:
    """The context in which a compiler reads ``x[i]`` in another way: there is none."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


class BroadcastingListCls:
    """``BroadcastingList2[int]``: to a script, one number or a list of two."""

    def __getitem__(self, types: object) -> None:
        return None


BROADCASTING = BroadcastingListCls()


def boolean_dispatch(
    arg_name: str,
    arg_index: int,
    default: bool,
    if_true: Callable[..., Any],
    if_false: Callable[..., Any],
    module_name: str,
    func_name: str,
) -> Callable[..., Any]:
    """A function that calls one of two, as an argument says."""

    def chosen(*args: object, **options: object) -> Any:
        found = args[arg_index] if len(args) > arg_index else options.get(arg_name, default)
        return (if_true if found else if_false)(*args, **options)

    chosen.__module__, chosen.__name__ = module_name, func_name
    return chosen


def any_itself(*args: object, **options: object) -> Callable[[F], F]:
    """A decorator that leaves the function as it is."""
    return itself
