"""Autocast: casts for functions that run in the lower precision, or in float32.

Which do on the CPU is said in their declarations (``autocast=``), after PyTorch's kernels for the
dispatch key `AutocastCPU`, and for accelerators in `autocasting_devices`: "lower" is bfloat16 or
float16, "widest" float32 if an operand has it and else the lower precision. Where such a function
is called while autocast is on, its floating-point operands are cast first, and the function itself
runs with autocast off. float64 is left alone; so are the
forms that write, in place or into ``out=``. Casts are ordinary ops of the graph
(`ToCopyBackward0`). A few declarations differ from PyTorch's kernels, where a function is computed
otherwise here than there: it is made of other ops, and the result must be in the same precision.

Nothing here costs anything before autocast is first turned on. Ops then come to the general path
(the count `UNUSUAL`), which asks `cast_arguments`. Functions that are made of ops have no such
place: `install` exchanges the code of those that ask for it, where they are, for a call of
`_Entry`.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

from retrograd import dtypes
from retrograd.engine.state import (
    AUTOCAST,
    HOT,
    STATE,
    set_autocast,
    set_autocast_device,
    set_grad_mode,
)
from retrograd.lifecycle import site
from retrograd.ops.calling.autocasting_devices import (
    is_elsewhere,
    lower_for,
    way_of,
    way_of_function,
)
from retrograd.ops.registry import COMPOSITES, RECORDED, Op
from retrograd.tensor import Tensor

_SMALL = (*dtypes.HALF_TYPES, dtypes.F32)  # what is cast: floating point, but not float64


# --------------------------------------------------------------------------------------- casts


class _Weights:
    """Casts of weights to the lower precision, kept until the outermost region ends.

    Leaves that require grad are cast once in a region, so that their gradients meet in one node.
    As in PyTorch the cast stays what it was when the weight is written to inside of the region.
    """

    def __init__(self) -> None:
        self.casts: dict[tuple[int, Any], tuple[Tensor, Tensor]] = {}  # the weight is kept alive

    def find(self, weight: Tensor, target: Any) -> Tensor:
        key = (id(weight), target)
        found = self.casts.get(key)
        if found is not None:
            return found[1]
        enabled, cut = STATE.grad_enabled, STATE.cut
        try:
            set_grad_mode(True)  # the first use may be under no_grad, a later one not
            made: Tensor = RECORDED._to_dtype(weight, target, None)
        finally:
            set_grad_mode(enabled, cut)
        self.casts[key] = (weight, made)
        return made


WEIGHTS = _Weights()


def cast(tensor: Tensor, target: Any) -> Tensor:
    """A tensor in another NumPy dtype, if it is such as autocast casts."""
    own = tensor._array.dtype
    if own is target or own not in _SMALL:
        return tensor
    if (
        own is dtypes.F32
        and target is lower_for((tensor,))
        and tensor.requires_grad
        and tensor.is_leaf
        and not tensor._is_view()
        and STATE.autocast_cache
        and not STATE.inference
    ):
        return WEIGHTS.find(tensor, target)
    return RECORDED._to_dtype(tensor, target, None)


def _cast_any(value: object, target: Any) -> Any:
    if isinstance(value, Tensor):
        return cast(value, target)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], (Tensor, list, tuple)):
        return [_cast_any(item, target) for item in value]
    return value


def _widest(values: Iterable[Any], lower: Any) -> Any:
    """The type that operands are promoted to; float64 does not count."""
    current = lower
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            own = item._array.dtype if isinstance(item, Tensor) else None
            if own not in _SMALL:
                continue
            if own is dtypes.F32 or current is dtypes.F32:
                current = dtypes.F32
            elif own is not lower:
                raise RuntimeError("Unexpected floating ScalarType in at::autocast::prioritize")
    return current


# ----------------------------------------------------------------------------------------- ops


def cast_arguments(op: Op, args: tuple[object, ...]) -> tuple[Any, ...]:
    """The arguments of an op as autocast wants them."""
    places = op.plan.tensor_places
    values = [args[place] for place in places]
    elsewhere = is_elsewhere(values)
    lower = STATE.autocast_device if elsewhere else STATE.autocast
    if lower is None:
        return args
    way = way_of(op) if elsewhere else op.autocast
    if way is None:
        return args
    if way == "widest":
        target = _widest(values, lower)
    else:
        target = lower if way == "lower" else dtypes.F32
    found = list(args)
    for place in places:
        found[place] = _cast_any(args[place], target)
    return tuple(found)


AUTOCAST.cast_arguments = cast_arguments

# ---------------------------------------------------------------------------------- composites


def without_autocast(function: Callable[..., object], args: Any, options: Any) -> Any:
    """Call a function with autocast off."""
    lower, on_device = STATE.autocast, STATE.autocast_device
    try:
        set_autocast(None)
        set_autocast_device(None)
        return function(*args, **options)
    finally:
        set_autocast(lower)
        set_autocast_device(on_device)


def run_lowered(function: Callable[..., object], *args: object) -> Any:
    """Call a function as autocast would one that is in the list of the lower precision."""
    target = lower_for(args)
    return without_autocast(function, [_cast_any(value, target) for value in args], {})


class _Entry:
    """What runs in the place of a function that declares `autocast`."""

    __slots__ = ("name", "original", "unless", "way")

    def __init__(
        self, name: str, original: Callable[..., Tensor], way: str, unless: str | None
    ) -> None:
        self.name = name
        self.original = original
        self.way = way
        self.unless: tuple[str, int] | None = None  # an argument and its place
        if unless is not None:
            self.unless = unless, list(inspect.signature(original).parameters).index(unless)

    def __call__(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        lower = lower_for((*args, *options.values())) if HOT["UNUSUAL"] else None
        if lower is None or self._is_other_form(args, options):
            return self.original(*args, **options)
        way: str | None = self.way
        if is_elsewhere((*args, *options.values())):
            way = way_of_function(self.name, self.way)
            if way is None:
                return self.original(*args, **options)
        if way == "off" or options.get("out") is not None:
            return without_autocast(self.original, args, options)
        if way == "lower result":
            return cast(without_autocast(self.original, args, options), lower)
        target = lower if way == "lower" else dtypes.F32
        args = tuple([_cast_any(value, target) for value in args])
        options = {name: _cast_any(value, target) for name, value in options.items()}
        return without_autocast(self.original, args, options)

    def _is_other_form(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether the arguments choose something that autocast leaves alone."""
        if self.unless is None:
            return False
        name, place = self.unless
        given = args[place] if len(args) > place else options.get(name)
        return given is not None and given is not False


def casting_functions() -> list[tuple[str, Callable[..., Any], str, str | None]]:
    """The functions made of ops that ask for it: each with what autocast does, and unless what."""
    found = [
        (name, made.function, made.autocast, made.autocast_unless)
        for name, made in COMPOSITES.items()
        if made.autocast is not None
    ]
    forms = (Tensor.__matmul__, Tensor.__rmatmul__, RECORDED.matmul)
    return found + [("torch.matmul", function, "lower", None) for function in forms]


class _Installed:
    done = False


def install() -> None:
    """Let these functions ask whether autocast is on; from the first time it is turned on."""
    if _Installed.done:
        return
    _Installed.done = True
    seen = set()
    for name, function, way, unless in casting_functions():
        if function not in seen:
            seen.add(function)
            _exchange(name, function, way, unless)


def _exchange(name: str, function: Any, way: str, unless: str | None) -> None:
    """Give a function other code: all that hold it, hold it still."""
    original = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    original.__kwdefaults__ = function.__kwdefaults__
    original.__qualname__ = function.__qualname__
    if not hasattr(function, "__signature__"):
        function.__signature__ = inspect.signature(function)
    code = _entry_code(len(function.__code__.co_freevars))
    # another thread may call at any point: the code goes last, and both find their defaults
    entry = _Entry(name, original, way, unless)
    function.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "_entry": entry}
    function.__code__ = code.replace(
        co_name=function.__name__, co_firstlineno=function.__code__.co_firstlineno
    )


@cache
def _entry_code(free: int) -> types.CodeType:
    """Code that passes a call on to an `_Entry`, with as many free variables as it must have."""
    filename = "<retrograd autocast>"
    site.mark_library_file(filename)
    names = ", ".join(f"free{number}" for number in range(free))
    text = (
        f"def outer({names}):\n"
        "    def entry(*args, _entry, **options):\n"
        f"        {names or 'pass'}\n"
        "        return _entry(args, options)\n"
        "    return entry\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), scope)
    code: types.CodeType = scope["outer"](*range(free)).__code__
    return code
