"""Modes that see every call of a public function, method or property: ``__torch_function__``.

A mode is asked in place of each function that the program calls, and decides what to do: call the
function, which then goes to the next mode outside, or something else. While it decides, it is not
on the stack itself.

No function asks for modes in its own code. While a mode is on, in any thread, the functions have
other code, which asks; they get their own back with the end of the last one. So nothing is paid
when there is none, and what holds a function (``from torch import add``) need not know.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from retrograd import core
from retrograd.above import above
from retrograd.lifecycle import site
from retrograd.ops.calling import lazy
from retrograd.ops.kinds import Array
from retrograd.ops.registry import PUBLIC
from retrograd.tensor import Tensor


class _Stack(threading.local):
    modes: tuple[Any, ...] = ()  # the innermost last


STACK = _Stack()

# Functions of namespaces that PyTorch's modes do not see either.
_UNSEEN = frozenset(
    """
    are_deterministic_algorithms_enabled broadcast_shapes compile eig from_dlpack from_numpy
    get_default_device get_deterministic_debug_mode get_device_module
    get_float32_matmul_precision get_num_interop_threads get_num_threads is_storage is_tensor
    is_deterministic_algorithms_warn_only_enabled legacy_reduction lstsq matrix_rank
    set_default_device set_deterministic_debug_mode set_float32_matmul_precision
    set_flush_denormal set_num_interop_threads set_num_threads solve sym_fresh_size symeig
    to_dlpack typename use_deterministic_algorithms
    """.split()
)
_UNSEEN_METHODS = frozenset(["__hash__", "__new__", "__str__", "__array_wrap__"])

# What a mode is given for an operator, where that is the method.
_METHOD_OF = {
    f"__{prefix}{name}__": method + ("_" if prefix == "i" else "")
    for name, method, prefixes in (
        ("add", "add", ("", "r", "i")),
        ("sub", "sub", ("", "i")),
        ("mul", "mul", ("", "r", "i")),
        ("truediv", "div", ("", "i")),
        ("floordiv", "floor_divide", ("i",)),
        ("mod", "remainder", ("", "i")),
        ("pow", "pow", ("", "i")),
        ("matmul", "matmul", ("",)),
        ("and", "bitwise_and", ("r",)),
        ("or", "bitwise_or", ("r",)),
        ("xor", "bitwise_xor", ("r",)),
        *((name, name, ("",)) for name in ("ne", "lt", "le", "gt", "ge", "neg", "abs")),
        ("pos", "positive", ("",)),
    )
    for prefix in prefixes
}
_NUMBERS = (Tensor, int, float, complex, np.number)


# ------------------------------------------------------------------------------------ the stack


def push(mode: object) -> None:
    """Put a mode on this thread's stack."""
    if not STACK.modes:
        _count(1)
    STACK.modes = (*STACK.modes, mode)


def pop() -> Any:
    """Take the innermost mode from this thread's stack."""
    *outer, mode = STACK.modes
    STACK.modes = tuple(outer)
    if not outer:
        _count(-1)
    return mode


def ask(function: Any, args: tuple[object, ...], options: dict[str, object]) -> Any:
    """Let the innermost mode do what a function is called for."""
    modes = STACK.modes
    mode = modes[-1]
    STACK.modes = modes[:-1]  # not by `pop`: the functions go on asking
    try:
        if options:
            result = mode.__torch_function__(function, (), args, options)
        else:
            result = mode.__torch_function__(function, (), args)
    finally:
        STACK.modes = modes
    if result is NotImplemented:
        name = resolve_name(function) or getattr(function, "__name__", function)
        raise TypeError(
            f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned "
            f"NotImplemented:\n\n  - mode object {mode!r}"
        )
    return result


# ------------------------------------------------------------------------- the functions' code


class _Entry:
    """What runs in the place of a function while there are modes."""

    __slots__ = ("function", "operator", "original", "public")

    def __init__(
        self, function: object, original: Callable[..., Tensor], public: object, operator: bool
    ) -> None:
        self.function = function
        self.original = original
        self.public = public  # what modes are given
        self.operator = operator  # which must be left to strangers

    def __call__(self, args: tuple[object, ...], options: dict[str, object]) -> Any:
        if not STACK.modes:
            return self.original(*args, **options)
        if self.operator and not isinstance(args[-1], _NUMBERS):
            return self.original(*args, **options)
        public = None if self.operator else core.called(self.function)
        return ask(public or self.public, args, options)


class _Exchange:
    """One function with its own code and the code that asks."""

    __slots__ = ("asking", "function", "original", "own")

    def __init__(self, function: Callable[..., object], public: object, operator: bool) -> None:
        self.function = function
        self.own = (function.__code__, function.__kwdefaults__)
        original = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        original.__kwdefaults__ = function.__kwdefaults__
        original.__qualname__ = function.__qualname__
        code = _asking_code(len(function.__code__.co_freevars))
        defaults = {
            **(function.__kwdefaults__ or {}),
            "_function_modes": _Entry(function, original, public, operator),
        }
        self.asking = (code.replace(co_name=function.__name__), defaults)

    def put(self) -> None:
        """Give the function the code that asks, last: another thread may call at any point."""
        code, self.function.__kwdefaults__ = self.asking
        self.function.__code__ = code

    def put_back(self) -> None:
        """Give the function its own code back."""
        self.function.__code__, self.function.__kwdefaults__ = self.own


@cache
def _asking_code(free: int) -> types.CodeType:
    """Code that passes a call on to an `_Entry`, with as many free variables as it must have."""
    filename = "<retrograd function modes>"
    site.mark_library_file(filename)
    names = ", ".join(f"free{number}" for number in range(free))
    text = (
        f"def outer({names}):\n"
        "    def entry(*args, _function_modes, **options):\n"
        f"        {names or 'pass'}\n"
        "        return _function_modes(args, options)\n"
        "    return entry\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), scope)
    code: types.CodeType = scope["outer"](*range(free)).__code__
    return code


@above
def resolve_name(f: object) -> str | None:
    """The name by which a function is found, ``torch.add``."""
    raise NotImplementedError


@above
def not_ops() -> tuple[Callable[..., Any], ...]:
    """Functions that modes see although they are no ops."""
    raise NotImplementedError


def _seen() -> Iterator[tuple[Any, Any, bool]]:
    """All functions that modes see: the function, what they are given, whether an operator."""
    for table in PUBLIC.values():
        for name, function in table.items():
            if name not in _UNSEEN and isinstance(function, types.FunctionType):
                yield core.python_function(function), function, False
    for name, member in vars(Tensor).items():
        dunder = name.startswith("__")
        if name in _UNSEEN_METHODS or (name.startswith("_") and not dunder):
            continue
        if isinstance(member, types.FunctionType):
            method = vars(Tensor)[_METHOD_OF.get(name, name)]
            yield core.python_function(member), method, dunder and member is not method
        elif isinstance(member, property):
            yield member.fget, member.__get__, False
            if member.fset is not None:
                yield member.fset, member.__set__, False
    for function in not_ops():
        yield function, function, False


class _Installed:
    threads = 0  # which have modes
    exchanges: dict[Any, _Exchange] = {}  # noqa: RUF012
    lock = threading.RLock()


def _count(change: int) -> None:
    with _Installed.lock:
        before = _Installed.threads
        _Installed.threads += change
        if not before:
            if not _Installed.exchanges:
                _prepare()
            for exchange in _Installed.exchanges.values():
                exchange.put()
            core.call_python(True)
        elif not _Installed.threads:
            core.call_python(False)
            for exchange in _Installed.exchanges.values():
                exchange.put_back()


def _prepare() -> None:
    from retrograd.ops.calling.autocasting import install

    install()  # it exchanges code too, once and for all
    for function, public, operator in _seen():
        if function not in _Installed.exchanges:
            _Installed.exchanges[function] = _Exchange(function, public, operator)
    lazy.AFTER_COMPILING.append(_renew)


def _renew(function: Callable[..., Array]) -> None:
    """A function that waited for its first call has got its code."""
    with _Installed.lock:
        before = _Installed.exchanges.get(function)
        if before is not None:
            entry: _Entry = before.asking[1]["_function_modes"]
            made = _Exchange(function, entry.public, entry.operator)
            _Installed.exchanges[function] = made
            if _Installed.threads:
                made.put()
