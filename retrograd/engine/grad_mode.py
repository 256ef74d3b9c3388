"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode` and rarer switches.

Each is a context manager and a decorator, and acts on the current thread only. A decorated
generator runs in the mode, and its caller does not: the mode is entered at every resume.
"""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager
from typing import Any, ParamSpec, Self, TypeVar, overload

from retrograd.core import shortcut
from retrograd.engine.inference import INFERENCE_CELL, cell_of_writes
from retrograd.engine.state import STATE, Block, Cut, set_grad_mode
from retrograd.lifecycle.site import user_level, user_site
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, cell_of

__all__ = [
    "enable_grad",
    "enforce_grad_layout_policy",
    "inference_mode",
    "no_grad",
    "set_grad_enabled",
    "set_multithreading_enabled",
]

_P = ParamSpec("_P")
_Y = TypeVar("_Y")
_S = TypeVar("_S")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=Callable[..., object])


class _Switches(threading.local):
    """What a thread asked for, beside the modes of `STATE`."""

    multithreading = True
    view_replay = False
    grad_layout = True


SWITCHES = _Switches()


def is_grad_enabled() -> bool:
    """Whether ops on this thread record a graph.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """
    return STATE.asked if STATE.inference else STATE.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference


def is_multithreading_enabled() -> bool:
    """Whether backward may use several threads; see `set_multithreading_enabled`."""
    return SWITCHES.multithreading


def is_view_replay_enabled() -> bool:
    """Whether views whose base was written get their ops' own nodes back."""
    return SWITCHES.view_replay


def _switch(enabled: bool, cut: Cut | None = None) -> None:
    """Set the grad mode; in inference mode it is only remembered."""
    if STATE.inference:
        STATE.asked = enabled
    else:
        set_grad_mode(enabled, cut)


# ----------------------------------------------------------------------------------- decorators


class _DecoratorContextManager:
    """A context manager that is also a decorator; every call of the function enters a clone."""

    def __enter__(self) -> object:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def clone(self) -> Self:
        """A new context manager of the same kind; override it if `__init__` takes arguments."""
        return self.__class__()

    def __call__(self, orig_func: _F) -> _F:
        decorated: _F = self._decorate(orig_func)
        return decorated

    def _decorate(self, function: Any) -> Any:
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=user_level(),
            )
            made = function

            def function(*args: object, **kwargs: object) -> Any:
                return made(*args, **kwargs)

        if inspect.isgeneratorfunction(function):
            return _decorated_generator(self.clone, function)

        @functools.wraps(function)
        def decorated(*args: object, **kwargs: object) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return decorated


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without parentheses too."""

    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    @overload
    def __new__(cls, orig_func: _F) -> _F: ...  # type: ignore[misc]  # not an instance
    @shortcut("bare_new")
    def __new__(cls, orig_func: object = None) -> Any:
        made = super().__new__(cls)
        return made if orig_func is None else made._decorate(orig_func)


def _decorated_generator(
    enter: Callable[[], AbstractContextManager[object]],
    function: Callable[_P, Generator[_Y, _S, _R]],
) -> Callable[_P, Generator[_Y, _S, _R]]:
    """A generator function whose body runs in a mode, and whose caller does not."""

    @functools.wraps(function)
    def decorated(*args: _P.args, **kwargs: _P.kwargs) -> Generator[_Y, _S, _R]:
        running = function(*args, **kwargs)
        resume: Callable[[], _Y] = running.__next__
        while True:
            try:
                with enter():
                    value = resume()
            except StopIteration as finished:
                value_returned: _R = finished.value
                return value_returned
            try:
                resume = functools.partial(running.send, (yield value))
            except GeneratorExit:
                with enter():
                    running.close()
                raise
            except BaseException as error:
                resume = functools.partial(running.throw, error)

    return decorated


# ------------------------------------------------------------------------------------ grad mode


class no_grad(_NoParamDecoratorContextManager):
    """Ops inside record no graph.

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    @shortcut("enter_no_grad")
    def __enter__(self) -> None:
        self.prev, self._cut = is_grad_enabled(), STATE.cut
        _switch(False, Cut("no_grad", "no_grad", *user_site(2)))

    @shortcut("leave_no_grad")
    def __exit__(self, *exception: object) -> None:
        _switch(self.prev, self._cut)


class enable_grad(_NoParamDecoratorContextManager):
    """Ops inside record a graph, even inside `no_grad` (but not inside `inference_mode`).

    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad(), torch.enable_grad():
    ...     y = x * 2
    >>> y.requires_grad
    True
    """

    @shortcut("enter_enable_grad")
    def __enter__(self) -> None:
        self.prev, self._cut = is_grad_enabled(), STATE.cut
        _switch(True)

    @shortcut("leave_no_grad")
    def __exit__(self, *exception: object) -> None:
        _switch(self.prev, self._cut)


class set_grad_enabled(_DecoratorContextManager):
    """Turn recording on or off: at once, and until the end of a ``with`` block if used as one.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not "
                f"{type(mode).__name__}"
            )
        self.mode = mode
        self.prev, self._cut = is_grad_enabled(), STATE.cut
        self._set()

    def _set(self) -> None:
        cut = None if self.mode else Cut.here("no_grad", "set_grad_enabled(False)")
        _switch(self.mode, cut)

    def clone(self) -> set_grad_enabled:
        return self.__class__(self.mode)

    def __call__(self, orig_func: _F) -> _F:
        _switch(self.prev, self._cut)  # as a decorator it must not act before the call
        decorated: _F = self._decorate(orig_func)
        return decorated

    @shortcut("enter_set_grad")
    def __enter__(self) -> None:
        self._set()

    @shortcut("leave_no_grad")
    def __exit__(self, *exception: object) -> None:
        _switch(self.prev, self._cut)

    def __repr__(self) -> str:
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(Block, _DecoratorContextManager):
    """`no_grad` without version counting: tensors made inside can never join a graph.

    ``inference_mode(False)`` is the normal mode, with recording on.

    >>> with torch.inference_mode():
    ...     y = torch.ones(1)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode: object = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made._decorate(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def clone(self) -> inference_mode:
        return self.__class__(self.mode)

    def _inside(self) -> dict[str, object]:
        cut = Cut.here("inference", "inference_mode") if self.mode else None
        return {
            "inference": self.mode,
            "grad_enabled": not self.mode,
            "cut": cut,
            "asked": False,
        }


def check_counted(tensor: Tensor) -> None:
    """Raise if a write to this tensor would not be counted: only inference mode allows that."""
    if tensor._cell is INFERENCE_CELL and not (STATE.inference or cell_of_writes(tensor)):
        raise runtime_error(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can "
            "make a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details.",
            code="RG113",
        )


# ------------------------------------------------------------------------------- rarer switches


class _SwitchMode(_DecoratorContextManager):
    """A switch that is set when the object is made, and put back at the end of a ``with`` block."""

    switch: str

    def __init__(self, mode: bool) -> None:
        self.prev: bool = getattr(SWITCHES, self.switch)
        self.mode = mode
        setattr(SWITCHES, self.switch, mode)

    def clone(self) -> Self:
        return self.__class__(self.mode)

    def __call__(self, orig_func: _F) -> _F:
        setattr(SWITCHES, self.switch, self.prev)
        decorated: _F = self._decorate(orig_func)
        return decorated

    def __enter__(self) -> None:
        setattr(SWITCHES, self.switch, self.mode)

    def __exit__(self, *exception: object) -> None:
        setattr(SWITCHES, self.switch, self.prev)


class set_multithreading_enabled(_SwitchMode):
    """Whether backward may use a thread per device.

    On the CPU it runs on the calling thread either way, in PyTorch as here, so only
    `is_multithreading_enabled` shows the difference.
    """

    switch = "multithreading"


class enforce_grad_layout_policy(_SwitchMode):
    """Whether a new `.grad` is laid out in memory as its leaf is (True) or as it arrives."""

    switch = "grad_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


class _force_original_view_tracking(_SwitchMode):
    """Whether a view whose base was written gets back the nodes of its view ops.

    Otherwise one ``AsStridedBackward0`` stands for all of them, as in PyTorch.
    """

    switch = "view_replay"


class _unsafe_preserve_version_counter(_DecoratorContextManager):
    """Hide the in-place writes of a block from autograd: versions are put back at its end.

    A gradient that needs the overwritten values is then wrong, without an error.
    """

    def __init__(self, tensors: Tensor | tuple[Tensor, ...]) -> None:
        self.tensors = (tensors,) if isinstance(tensors, Tensor) else tensors
        if not isinstance(self.tensors, tuple):
            raise AssertionError("Expected tensors to be a tuple")
        self.prev_versions = tuple(tensor._version for tensor in self.tensors)

    def clone(self) -> Self:
        return self.__class__(self.tensors)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        for tensor, version in zip(self.tensors, self.prev_versions, strict=True):
            cell_of(tensor).version = version
