"""The protocol ``__torch_function__``: modes that see every call, and classes that can be asked.

A `TorchFunctionMode` sees all public functions, methods and properties. Classes with the method are
found and asked by `handle_torch_function`; the operations of this library do not ask them by
themselves: they take tensors.
"""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

from retrograd import autograd
from retrograd.marks import differs
from retrograd.namespaces import from_table
from retrograd.nn import init
from retrograd.ops.calling.function_modes import STACK, ask
from retrograd.ops.calling.function_modes import pop as _pop_mode
from retrograd.ops.calling.function_modes import push as _push_mode
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.namespaces.more.overrides import *  # noqa: F403

__all__ = [
    *("enable_reentrant_dispatch", "get_ignored_functions", "get_overridable_functions"),
    *("get_testing_overrides", "handle_torch_function", "has_torch_function", "is_tensor_like"),
    *("is_tensor_method_or_property", "redispatch_function", "resolve_name"),
    "wrap_torch_function",
]


class TorchFunctionMode:
    """A context whose ``__torch_function__`` is called in place of every function of the library.

    >>> class Names(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = torch.ones(2) * 3
    ones
    mul
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        _push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _pop_mode()

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> Self:
        """Make one; an older form of ``with Mode():``."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing: it calls what it is asked for."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Any = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_function_mode() -> TorchFunctionMode | None:
    return STACK.modes[-1] if STACK.modes else None


def _get_current_function_mode_stack() -> list[TorchFunctionMode]:
    return list(STACK.modes)


@contextlib.contextmanager
def _pop_mode_temporarily() -> Iterator[TorchFunctionMode]:
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


_PROTOCOL = "__torch_function__"


def has_torch_function(relevant_args: Iterable[object]) -> bool:
    """Whether a mode is on, or some argument has a ``__torch_function__`` of its own.

    >>> torch.overrides.has_torch_function([torch.ones(1)])
    False
    """
    return bool(STACK.modes) or any(
        hasattr(type(argument), _PROTOCOL) for argument in relevant_args
    )


@differs("plain operations do not come here by themselves")
def handle_torch_function(
    public_api: Callable[..., object],
    relevant_args: Iterable[object],
    *args: object,
    **kwargs: object,
) -> Any:
    """Ask the innermost mode, or the arguments, subclasses first, to do what `public_api` does."""
    if STACK.modes:
        return ask(public_api, args, kwargs)
    asked: list[object] = []
    for argument in relevant_args:
        kind = type(argument)
        if not hasattr(kind, _PROTOCOL) or any(type(other) is kind for other in asked):
            continue
        place = len(asked)
        for number, other in enumerate(asked):
            if issubclass(kind, type(other)):
                place = number
                break
        asked.insert(place, argument)
    types = tuple(type(argument) for argument in asked)
    for argument in asked:
        result = getattr(argument, _PROTOCOL)(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{getattr(public_api, '__module__', '')}.{getattr(public_api, '__name__', public_api)}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement "
        f"{_PROTOCOL}: {[type(argument) for argument in asked]}"
    )


def wrap_torch_function(dispatcher: Callable[..., Any]) -> Callable[..., Any]:
    """Make a function ask its arguments first; `dispatcher` returns those that may answer."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: object) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp: object) -> bool:
    """Whether something is a tensor or has a ``__torch_function__``."""
    return isinstance(inp, Tensor) or hasattr(inp, _PROTOCOL)


def is_tensor_method_or_property(func: Callable[..., object]) -> bool:
    """Whether a function is a method of Tensor, or reads one of its properties."""
    if getattr(func, "__name__", "") == "__get__":
        return True
    return any(member is func for member in vars(Tensor).values())


def resolve_name(f: object) -> str | None:
    """The public name of a function: ``torch.add``; None if it has none.

    >>> torch.overrides.resolve_name(torch.nn.functional.relu)
    'torch.nn.functional.relu'
    """
    for member, value in vars(Tensor).items():
        if value is f and member not in PUBLIC["torch"]:
            return f"torch.Tensor.{member}"
    for space, functions in PUBLIC.items():
        for name, function in functions.items():
            if function is f:
                return f"torch.{name}" if space == "torch" else f"torch.{space}.{name}"
    return None


from_table(__name__)


def not_ops() -> tuple[Callable[..., object], ...]:
    """Functions that modes see although they are no ops."""
    return (
        *(autograd.grad, autograd.backward),
        *(init.constant_, init.kaiming_uniform_, init.normal_, init.uniform_),
    )
