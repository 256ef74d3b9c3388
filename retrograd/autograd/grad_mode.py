"""Grad modes: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator, and acts on the current thread only.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from retrograd.autograd.state import STATE, Cut, set_grad_mode, set_inference
from retrograd.lifecycle.site import user_site

_F = TypeVar("_F", bound=Callable[..., Any])


def is_grad_enabled() -> bool:
    """Whether ops on this thread record a graph."""
    return STATE.grad_enabled


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in inference mode."""
    return STATE.inference


class _Mode:
    """A context manager that is also a decorator; every call of the function enters anew."""

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(self, *exception: object) -> None:
        raise NotImplementedError

    def _again(self) -> _Mode:
        return type(self)()

    def __call__(self, function: _F) -> _F:
        @functools.wraps(function)
        def decorated(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        return decorated  # type: ignore[return-value]


class no_grad(_Mode):
    """Ops inside record no graph.

    >>> import retrograd as torch
    >>> x = torch.ones(1, requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)  # @no_grad without parentheses

    def __enter__(self) -> None:
        self._before = (STATE.grad_enabled, STATE.cut)
        set_grad_mode(False, Cut("no_grad", "no_grad", *user_site(2)))

    def __exit__(self, *exception: object) -> None:
        set_grad_mode(*self._before)


class enable_grad(_Mode):
    """Ops inside record a graph, even inside `no_grad`."""

    def __new__(cls, function: Any = None) -> Any:
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> None:
        self._before = (STATE.grad_enabled, STATE.cut)
        set_grad_mode(True)

    def __exit__(self, *exception: object) -> None:
        set_grad_mode(*self._before)


class set_grad_enabled(_Mode):
    """Turn recording on or off: at once, and until the end of a ``with`` block if used as one."""

    def __init__(self, mode: bool) -> None:
        self.mode = bool(mode)
        self._before = (STATE.grad_enabled, STATE.cut)
        self._switch()

    def _switch(self) -> None:
        cut = None if self.mode else Cut.here("no_grad", "set_grad_enabled(False)")
        set_grad_mode(self.mode, cut)

    def _again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def __call__(self, function: _F) -> _F:
        set_grad_mode(*self._before)  # as a decorator it must not act before the call
        return super().__call__(function)

    def __enter__(self) -> None:
        self._switch()

    def __exit__(self, *exception: object) -> None:
        set_grad_mode(*self._before)

    def __repr__(self) -> str:
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """`no_grad` without version counting: tensors made inside can never join a graph."""

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def _again(self) -> inference_mode:
        made: inference_mode = inference_mode(self.mode)
        return made

    def __enter__(self) -> None:
        self._before = (STATE.grad_enabled, STATE.cut, STATE.inference)
        set_inference(self.mode)
        cut = Cut.here("inference", "inference_mode") if self.mode else None
        set_grad_mode(not self.mode, cut)

    def __exit__(self, *exception: object) -> None:
        enabled, cut, inference = self._before
        set_inference(inference)
        set_grad_mode(enabled, cut)
