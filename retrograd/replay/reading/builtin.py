"""Python's own functions, types and methods of containers, as a step uses them."""

from __future__ import annotations

import builtins
import functools
import itertools
import math
from collections import Counter, OrderedDict, defaultdict, deque
from contextlib import nullcontext
from types import GeneratorType
from typing import Any

from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.guards import is_plain
from retrograd.replay.reading.statements import Statements
from retrograd.replay.reading.surroundings import CONTAINERS
from retrograd.tensor import Tensor

# Take their arguments as they are and look at no data.
_QUESTIONS = frozenset([isinstance, issubclass, callable, type, object, slice, range])
# Go through what they are given.
_THROUGH = frozenset(
    (
        *(list, tuple, set, frozenset, dict, zip, enumerate, reversed, iter, sum, any, all),
        *(sorted, min, max, map, filter, OrderedDict, deque, Counter, functools.reduce),
        *(itertools.chain, itertools.islice, itertools.zip_longest, itertools.product),
        *(itertools.pairwise, itertools.repeat, itertools.starmap),
    )
)
# Compare what they are given, or take its truth.
_COMPARING = frozenset([sorted, min, max])
_PLAIN = frozenset(
    (
        *(abs, round, divmod, pow, int, float, complex, bool, str, bytes, chr, ord, repr, format),
        *(hash, bin, hex, oct, ascii, len, next, defaultdict, nullcontext),
    )
)
_MODULES = frozenset(["math", "cmath", "_operator"])
_WRITES = frozenset(["append", "extend", "add", "update", "clear", "appendleft", "insert"])
_READS = frozenset(
    """
    get keys values items index count copy __getitem__ __len__ __contains__ __iter__ union
    intersection difference issubset issuperset isdisjoint __enter__ __exit__
    """.split()
)
_COMPARES = frozenset(["index", "count", "remove", "sort", "__contains__", "__eq__"])
WHY = {
    "print": "print shows something at each call; print what the step returns",
    "input": "input asks at each call; ask before the step",
    "open": "files are opened outside of a step",
    "next": "an item is taken from an iterator outside; give the step the item",
    "id": "identities change from call to call",
}


class Builtins(Statements):
    """What calls Python's own functions for a step."""

    number: Any

    def builtin(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """Call a function, type or method that is Python's own."""
        holder = getattr(function, "__self__", None)
        if isinstance(function, type) or getattr(function, "__module__", None) == "builtins":
            return self._named(function, args, kwargs, frame)
        if getattr(function, "__module__", "") in _MODULES or function is functools.reduce:
            if any(isinstance(part, Tensor) for part in args):
                return self._leaf_of(function, args, kwargs, frame)
            return self._named(function, args, kwargs, frame)
        if (
            holder is None and args and hasattr(function, "__objclass__")
        ):  # ``dict.get(table, key)``
            holder, args = args[0], args[1:]
            function = getattr(holder, function.__name__)
        if isinstance(holder, Tensor):
            return self.leaf(function, args, kwargs, frame)
        if is_plain(holder) or isinstance(holder, CONTAINERS) or self._is_view(holder):
            return self._method_of(holder, function, args, kwargs, frame)
        if isinstance(holder, nullcontext | super):
            return function(*args, **kwargs)
        name = getattr(function, "__qualname__", None) or type(function).__name__
        place = getattr(function, "__module__", None) or type(holder).__module__
        self.refuse(f"{place}.{name} is not known to leave nothing behind; call it outside", frame)
        return self.plainly(function, args, kwargs, frame)

    def _named(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        special = getattr(self, f"_do_{getattr(function, '__name__', '')}", None)
        if special is not None and getattr(builtins, function.__name__, None) is function:
            return special(args, kwargs, frame)
        known = function in _PLAIN or getattr(function, "__module__", "") in _MODULES
        if function in _QUESTIONS:
            return function(*args, **kwargs)
        if not known and function not in _THROUGH:
            name = getattr(function, "__name__", str(function))
            self.refuse(WHY.get(name, f"{name} is not part of a step that repeats"), frame)
            return self.plainly(function, args, kwargs, frame)
        kwargs = {key: self._readable(part, frame) for key, part in kwargs.items()}
        if function in _THROUGH:
            return self._through(function, args, kwargs, frame)
        if any(isinstance(part, Tensor) for part in args):
            return self._leaf_of(function, args, kwargs, frame)
        if function is float and len(args) == 1 and id(args[0]) in self.numbers:
            return args[0]
        for part in args:
            self._as_plain(part, frame, f"{function.__name__} looks at it")
            if not self._is_simple(part) and function is not nullcontext:
                self.refuse(f"{function.__name__} of a {type(part).__name__} is not known", frame)
        return function(*args, **kwargs)

    def _leaf_of(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """A function of Python's on a tensor: one that the tensor answers, or a read of data."""
        if function in (float, int, complex, bool) and len(args) == 1:
            if function is float:
                return self.number(args[0], frame)
            self.refuse(f"{function.__name__}() reads a tensor; return the tensor", frame)
        elif function not in (abs, round, divmod, pow, len, hash) and function.__module__ not in (
            "_operator",
            "math",
        ):
            self.refuse(f"{function.__name__} looks at the elements of a tensor", frame)
        elif function.__module__ == "math" and function is not math.prod:
            self.refuse(f"math.{function.__name__} reads a tensor; use torch's", frame)
        return self.leaf(function, args, kwargs, frame)

    def _through(self, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        """A function that goes through its arguments; functions among them are read."""
        if function in (map, filter, functools.reduce, itertools.starmap) and args:
            first = self._readable(args[0], frame)
            if function is filter:
                keep = first
                first = lambda item: self.truth(item if keep is None else keep(item), frame)  # noqa: E731
            args = (first, *(self._iterable(part, frame) for part in args[1:]))
            return function(*args, **kwargs)
        if function in (min, max) and len(args) > 1:
            parts: tuple[Any, ...] = (args,)
        else:
            parts = args
        if function in (any, all):
            found = function is any
            truths = (self.truth(item, frame) for item in self.iterate(args[0], frame))
            return next((found for true in truths if true is found), not found)
        made = tuple(self._iterable(part, frame) for part in parts)
        if function in _COMPARING or (function is sum and made):
            made = (list(made[0]), *made[1:])
            if function is sum and any(isinstance(part, Tensor) for part in (*made[0], *made[1:])):
                return self.leaf(sum, made, kwargs, frame)
            use = f"{function.__name__} compares it"
            if (key := kwargs.get("key")) is not None:
                kwargs["key"] = lambda item: self._as_plain(key(item), frame, use)
            for item in made[0] if key is None else ():
                self._as_plain(item, frame, use)
        elif function in (set, frozenset, Counter) and made:
            made = ([self._hashed(item, frame) for item in made[0]],)
        elif function is reversed and not isinstance(args[0], (*CONTAINERS, str, range)):
            made = (list(made[0]),)
        elif function is dict and args and not isinstance(args[0], dict):
            made = (made[0],)
        return function(*made, **kwargs)

    def _iterable(self, value: Any, frame: Frame) -> Any:
        """An argument that is gone through: the container itself, or an iterator over it."""
        if isinstance(value, CONTAINERS):
            self.outside.contents(value)
            return value
        if not hasattr(type(value), "__iter__"):
            return value  # a start, a number of repeats
        return value if is_plain(value) else self.iterate(value, frame)

    def _readable(self, value: Any, frame: Frame) -> Any:
        """A function as Python's own get it: calling it reads it."""
        if callable(value):
            return lambda *args, **kwargs: self.call(value, args, kwargs, frame)
        return value

    # ------------------------------------------------------------------ methods of containers

    def _method_of(self, holder: Any, function: Any, args: Any, kwargs: Any, frame: Frame) -> Any:
        name = function.__name__
        if is_plain(holder) and not isinstance(holder, tuple):
            for part in args:
                made = list(self._iterable(part, frame)) if name == "join" else part
                self._as_plain(made, frame, "a text is made of it")
                args = (made,) if name == "join" else args
            return function(*args, **kwargs)
        if name in _COMPARES and isinstance(holder, CONTAINERS):
            self._as_plain(holder, frame, f"{name} compares it")
        known = self.outside.source(holder)
        kwargs = {key: self._readable(part, frame) for key, part in kwargs.items()}
        if known is None or is_plain(holder):
            if name in ("extend", "update"):
                args = tuple(self._iterable(part, frame) for part in args)
            return function(*args, **kwargs)
        if name == "get" and isinstance(holder, dict) and args and args[0] not in holder:
            self.outside.absent(holder, args[0], f"{known[1]}[{args[0]!r}]")
            return function(*args, **kwargs)
        if name in ("get", "__getitem__") and args and not isinstance(args[0], slice):
            return self.item(holder, args[0], frame)
        if name in _WRITES:
            args = tuple(list(part) if isinstance(part, GeneratorType) else part for part in args)
            self.effect(getattr(type(holder), name), (holder, *args), frame)
            self.wrote(holder, ..., frame)
            return None
        if name not in _READS:
            self.refuse(f"{known[1]}.{name} changes what is there at each call", frame)
        self.outside.contents(holder)
        return function(*args, **kwargs)

    # ------------------------------------------------------------------ some by name

    def _do_len(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        (value,) = args
        if isinstance(value, Tensor):
            return self.leaf(len, args, kwargs, frame)
        if isinstance(value, CONTAINERS) or is_plain(value) or self._is_view(value):
            self.outside.contents(value)
            return len(value)
        return self.call(self.attribute(value, "__len__", frame), (), {}, frame)

    def _do_getattr(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        holder, name, *default = args
        try:
            return self.attribute(holder, name, frame)
        except AttributeError:
            if not default:
                raise
            return default[0]

    def _do_hasattr(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        try:
            self.attribute(args[0], args[1], frame)
        except AttributeError:
            return False
        return True

    def _do_setattr(self, args: Any, kwargs: Any, frame: Frame) -> None:
        self.set_attribute(args[0], args[1], args[2], frame)

    def _do_super(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        if args:
            return super(*args)
        around: Frame | None = frame
        while around is not None and "__class__" not in around.cells:
            around = around.parent
        if around is None:
            raise RuntimeError("super(): __class__ cell not found")
        first = next(iter(around.locals.values()))
        return super(around.cells["__class__"].cell_contents, first)

    def _do_next(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        iterator = args[0]
        if self.outside.source(iterator) is not None:
            self.refuse(WHY["next"], frame)
        return next(*args)

    def _do_iter(self, args: Any, kwargs: Any, frame: Frame) -> Any:
        return self.iterate(args[0], frame)
