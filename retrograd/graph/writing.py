"""Hears of writes in place: which line has written into which memory, and how.

The methods that write are replaced on the class of tensors while something is recorded, and the
functions behind `inplace=True` of modules; what an optimizer writes is told by its hook.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from retrograd.watching.lines import Tracer
from retrograd.watching.replacing import Undo, replaced

Noted = Callable[[Any, str, int, FrameType], None]
"""Called with the tensor, the name of what wrote, the number before it, and the user's frame."""

OPERATORS = frozenset(
    f"__i{name}__"
    for name in "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
) | {"__setitem__"}

# These end in an underscore too, but write no values.
_NO_VALUES = frozenset(
    "detach_ requires_grad_ rename_ share_memory_ t_ transpose_ squeeze_ unsqueeze_ swapaxes_ "
    "swapdims_ as_strided_ resize_ resize_as_ set_ coalesced_ _coalesced_".split()
)

_FUNCTIONS = (
    "relu_ dropout_ alpha_dropout_ feature_dropout_ feature_alpha_dropout_ celu_ selu_ rrelu_ "
    "threshold_ hardtanh_ leaky_relu_ elu_ silu_ mish_ hardsigmoid_ hardswish_"
).split()


def shown(name: str) -> str:
    """How a person would write it: `+=` for `__iadd__`."""
    symbols = {
        "__setitem__": "[...] =",
        **{"__iadd__": "+=", "__isub__": "-=", "__imul__": "*=", "__itruediv__": "/="},
    }
    return symbols.get(name, name)


def watch_writes(torch: Any, tracer: Tracer, counter: Callable[[], int], noted: Noted) -> Undo:
    """Tell of every write that a line of the user makes, from now on; the result ends it."""
    undo: list[Callable[[], None]] = []
    kind = torch.Tensor
    for name in _methods(kind):
        undo.append(_replace_method(kind, name, tracer, counter, noted))
    spaces = [torch, torch.nn.functional, getattr(getattr(torch, "_C", None), "_nn", None)]
    for space in spaces:
        for name in _FUNCTIONS:
            if callable(getattr(space, name, None)):
                undo.append(_replace_function(space, name, tracer, counter, noted))

    def undo_all() -> None:
        while undo:
            undo.pop()()

    return undo_all


def _methods(kind: type) -> Iterable[str]:
    for name in dir(kind):
        ends = name.endswith("_") and not name.endswith("__") and not name.startswith("_")
        if (ends and name not in _NO_VALUES) or name in OPERATORS:
            yield name


def _replace_method(
    kind: type, name: str, tracer: Tracer, counter: Callable[[], int], noted: Noted
) -> Undo:
    original: Any = getattr(kind, name)
    is_user = tracer.is_user_file

    def method(self: Any, *args: Any, **keywords: Any) -> Any:
        frame = sys._getframe(1)
        if not is_user(frame.f_code.co_filename):
            return original(self, *args, **keywords)
        number = counter()
        result = original(self, *args, **keywords)
        noted(self, name, number, frame)
        return result

    return replaced(kind, name, method)


def _replace_function(
    space: Any, name: str, tracer: Tracer, counter: Callable[[], int], noted: Noted
) -> Undo:
    original = getattr(space, name)

    def function(tensor: Any, *args: Any, **keywords: Any) -> Any:
        number = counter()
        result = original(tensor, *args, **keywords)
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and not tracer.is_user_file(frame.f_code.co_filename):
            frame = frame.f_back  # from the library's function to the line that called it
        if frame is not None:
            noted(tensor, name, number, frame)
        return result

    return replaced(space, name, function)
