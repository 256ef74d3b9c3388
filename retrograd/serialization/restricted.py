"""An interpreter of pickles that runs nothing a file brings along.

A pickle is a program for a small machine with a stack. Python's own machine calls whatever the
program names. This one knows a list of names (`names.known_names`), for each of them a function
that looks at its arguments first (`_MAKERS`), and what the user has allowed by name. Everything
else is refused, and so is a program that asks for more memory than a file of its size needs.
"""

from __future__ import annotations

import itertools
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import IO, Any

from retrograd.nn.parameter import Parameter
from retrograd.serialization import rebuild
from retrograd.serialization.names import known_names, present_module
from retrograd.serialization.rebuild import described
from retrograd.serialization.safe_globals import BLOCKED, allowed_as, allowed_names
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size, device

_ROOM = 64 << 20  # bytes that every pickle may fill
_ROOM_PER_BYTE = 64  # and for each of its own bytes: an empty dict is one byte long


class Source:
    """A file from its position on, to read pickles from: never more than it has."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        start = file.tell()
        file.seek(0, 2)
        self._end: int = file.tell()
        file.seek(start)
        self.left = self._end - start

    def resume(self) -> None:
        """Go on after someone else has read from the file."""
        self.left = self._end - self.file.tell()

    def read(self, count: int) -> bytes:
        """Exactly so many bytes."""
        if count > self.left:
            raise EOFError("Ran out of input")
        found: bytes = self.file.read(count)
        if len(found) != count:
            raise EOFError("Ran out of input")
        self.left -= count
        return found

    def line(self) -> str:
        """Text up to the end of a line."""
        found: bytes = self.file.readline(min(self.left, 4096))
        self.left -= len(found)
        if not found.endswith(b"\n"):
            raise EOFError("Ran out of input")
        return found[:-1].decode("utf-8")


class _Raised(Exception):
    """Carries the exception of a class that the user allowed past the handlers of this file."""


def _makers() -> dict[int, Callable[..., object]]:
    makers: list[tuple[object, Callable[..., object]]] = [
        (OrderedDict, rebuild.ordered),
        (Counter, rebuild.counter),
        (set, rebuild.set_from),
        (complex, rebuild.complex_number),
        (bytearray, rebuild.byte_array),
        (Size, rebuild.size_from),
        (device, device),
        (Parameter, rebuild.parameter),
        (rebuild.encode, rebuild.encode),
        (rebuild.layout_named, rebuild.layout_named),
        *((function, function) for function in rebuild.FUNCTIONS.values()),
    ]
    return {id(named): maker for named, maker in makers}


class RestrictedUnpickler:
    """Reads one pickle from a source."""

    def __init__(
        self,
        source: Source,
        encoding: str = "utf-8",
        persistent_load: Callable[[Any], object] | None = None,
    ) -> None:
        self._read = source.read
        self._source = source
        self._encoding = encoding
        self._persistent_load = persistent_load
        self._makers = _makers()
        self._known = known_names()
        self._names = allowed_names()
        self._trusted = {id(own) for own in self._names.values()}
        self._memo: dict[int, object] = {}
        self._marks: list[list[Any]] = []
        self._stack: list[Any] = []
        self._keys = rebuild.Keys()
        self._room = _ROOM + _ROOM_PER_BYTE * source.left

    def load(self) -> Any:
        """The object of the pickle."""
        read = self._read
        try:
            while True:
                code = read(1)[0]
                if code == _STOP:
                    return self._stack.pop()
                action = _ACTIONS.get(code)
                if action is None:
                    raise UnpicklingError(f"Unsupported operand {code}")
                action(self)
        except _Raised as raised:
            raise raised.args[0] from None
        except (UnpicklingError, EOFError):
            raise
        except (
            *(IndexError, KeyError, TypeError, ValueError, AttributeError, struct.error),
            *(OverflowError, RecursionError),
        ) as error:
            raise UnpicklingError(f"the pickle is damaged: {error}") from None

    # ---------------------------------------------------------------------------------- helpers

    def _spend(self, size: int) -> None:
        self._room -= size
        if self._room < 0:
            raise UnpicklingError("the pickle asks for more memory than a file of its size needs")

    def _push(self, value: object, size: int = 0) -> None:
        self._spend(size)
        self._stack.append(value)

    def _items(self) -> list[object]:
        """What was pushed since the last mark."""
        items = self._stack
        self._stack = self._marks.pop()
        return items

    def _place(self) -> str:
        """Where in the result the object lies that is being made: the keys on the way to it."""
        levels = [*self._marks, self._stack]
        keys = []
        for below, level in itertools.pairwise(levels):
            if below and isinstance(below[-1], dict):
                named = [item for item in level if type(item) is str]
                keys += named[-1:]
        return "".join(f"[{key[:200]!r}]" for key in keys[:20])

    # ------------------------------------------------------------------------- names and objects

    def _global(self) -> None:
        self._name(self._source.line(), self._source.line())

    def _stack_global(self) -> None:
        name, module = self._stack.pop(), self._stack.pop()
        if type(name) is not str or type(module) is not str:
            raise UnpicklingError("the name of a global must be text")
        self._name(module, name)

    def _name(self, module: str, name: str) -> None:
        module = present_module(module)
        path = f"{module}.{name}"
        if module in BLOCKED:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {path} whose module {module} is blocked."
            )
        found = self._known.get(path)
        if found is None:
            found = allowed_as(module, name, self._names)
            if found is not None:
                self._trusted.add(id(found))
        if found is None:
            path = path.removeprefix("builtins.")
            raise UnpicklingError(
                f"Unsupported global: GLOBAL {path} was not an allowed global by default. Please "
                f"use `torch.serialization.add_safe_globals([{path}])` or the "
                f"`torch.serialization.safe_globals([{path}])` context manager to allowlist this "
                "global if you trust this class/function."
            )
        self._stack.append(found)

    def _reduce(self) -> None:
        arguments = self._stack.pop()
        function = self._stack[-1]
        if type(arguments) is not tuple:
            raise UnpicklingError("the arguments of a call must be a tuple")
        self._stack[-1] = self._called(function, arguments)

    def _called(self, function: Any, arguments: tuple[object, ...]) -> object:
        self._spend(512 + rebuild.length_of(arguments))
        if function is rebuild.from_type:
            return self._from_type(*arguments)
        maker = self._makers.get(id(function))
        if maker is not None:
            return self._made(maker, arguments)
        if id(function) not in self._trusted:
            raise UnpicklingError(
                f"Trying to call reduce for unrecognized function {described(function)}"
            )
        try:
            return function(*arguments)
        except Exception as error:
            raise _Raised(error) from None

    def _made(self, maker: Callable[..., object], arguments: tuple[object, ...]) -> object:
        try:
            return maker(*arguments)
        except (RuntimeError, NotImplementedError) as error:
            place = self._place()
            if place:
                error.args = (f"{error}\nThis was found while loading {place}.",)
            raise _Raised(error) from None

    def _from_type(self, function: Any, kind: Any, arguments: object, state: object) -> Any:
        if kind is not Tensor and id(kind) not in self._makers and id(kind) not in self._trusted:
            raise UnpicklingError(f"a tensor of type {described(kind)} was not allowed")
        if id(kind) in self._trusted:
            try:
                return rebuild.from_type(function, kind, arguments, state)
            except UnpicklingError:
                raise
            except Exception as error:
                raise _Raised(error) from None
        return self._made(rebuild.from_type, (function, kind, arguments, state))

    def _new_object(self) -> None:
        arguments = self._stack.pop()
        self._create(self._stack.pop(), arguments, {})

    def _new_object_with_names(self) -> None:
        named, arguments = self._stack.pop(), self._stack.pop()
        self._create(self._stack.pop(), arguments, rebuild.attributes(named))

    def _create(self, kind: Any, arguments: object, named: dict[str, object]) -> None:
        if type(arguments) is not tuple:
            raise UnpicklingError("the arguments of a class must be a tuple")
        if id(kind) in self._makers and isinstance(kind, type) and not named:
            self._stack.append(self._called(kind, arguments))
            return
        if id(kind) not in self._trusted or not isinstance(kind, type):
            raise UnpicklingError(
                "Can only create new object for nn.Parameter or classes allowlisted via "
                f"`add_safe_globals` but got {described(kind)}"
            )
        self._spend(512 + rebuild.length_of(arguments))
        try:
            self._stack.append(kind.__new__(kind, *arguments, **named))
        except Exception as error:
            raise _Raised(error) from None

    def _build(self) -> None:
        state = self._stack.pop()
        target = self._stack[-1]
        kind = type(target)
        if kind is OrderedDict:
            target.__dict__.update(rebuild.attributes(state))
        elif kind is Tensor or (id(kind) in self._makers and isinstance(target, Tensor)):
            rebuild.set_state(target, state)
        elif id(kind) in self._trusted:
            try:
                _set_state(target, state)
            except Exception as error:
                raise _Raised(error) from None
        else:
            raise UnpicklingError(
                "Can only build Tensor, Parameter, OrderedDict or types allowlisted via "
                f"`add_safe_globals`, but got {kind}"
            )

    def _persistent(self) -> None:
        found = self._stack.pop()
        if type(found) is not tuple:
            raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(found)}")
        if not found or _text(found[0]) != "storage" or self._persistent_load is None:
            raise UnpicklingError(
                "Only persistent_load of storage is allowed, but got "
                f"{described(found[0]) if found else 'nothing'}"
            )
        self._spend(512)
        try:
            self._push(self._made(self._persistent_load, (found,)))
        except (UnpicklingError, _Raised):
            raise
        except Exception as error:  # of the user's map_location
            raise _Raised(error) from None

    # ------------------------------------------------------------------------------- containers

    def _append(self) -> None:
        item = self._stack.pop()
        self._list().append(item)

    def _append_all(self) -> None:
        items = self._items()
        self._list().extend(items)

    def _list(self) -> list[object]:
        found = self._stack[-1]
        if type(found) is not list:
            raise UnpicklingError(f"Can only append to lists, but got {type(found)}")
        return found

    def _add_all(self) -> None:
        items = self._items()
        target = self._stack[-1]
        if type(target) is not set:
            raise UnpicklingError(f"Can only add to sets, but got {type(target)}")
        self._keys.check(items)
        target.update(items)

    def _set_item(self) -> None:
        value, key = self._stack.pop(), self._stack.pop()
        self._set("SETITEM", [key, value])

    def _set_items(self) -> None:
        self._set("SETITEMS", self._items())

    def _set(self, operation: str, items: list[object]) -> None:
        target = self._stack[-1]
        if type(target) not in (dict, OrderedDict, Counter):
            raise UnpicklingError(
                f"Can only {operation} for dict, collections.OrderedDict, collections.Counter, but "
                f"got {type(target)}"
            )
        self._keys.check(items[::2])
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[key] = value

    def _mark(self) -> None:
        self._spend(64)
        self._marks.append(self._stack)
        self._stack = []

    def _tuple(self) -> None:
        items = self._items()
        self._push(tuple(items), 48)

    def _last(self, count: int) -> None:
        items = tuple(self._stack[-count:])
        if len(items) < count:
            raise UnpicklingError("the pickle is damaged: its stack is empty")
        self._stack[-count:] = [items]
        self._spend(64)

    def _frozen_set(self) -> None:
        items = self._items()
        self._push(frozenset(rebuild.set_from(items)), 216 + 64 * len(items))

    # --------------------------------------------------------------------------- text and numbers

    def _number(self, size: int, form: str) -> Any:
        return struct.unpack(form, self._read(size))[0]

    def _long(self, size_size: int) -> None:
        data = self._read(self._length(size_size))
        self._push(int.from_bytes(data, "little", signed=True))

    def _length(self, size: int) -> int:
        return int.from_bytes(self._read(size), "little")

    def _unicode(self, size: int) -> None:
        text = self._read(self._length(size))
        self._push(str(text, "utf-8", "surrogatepass"), 64)

    def _string(self, size: int) -> None:
        found = self._read(self._length(size))
        decoded = found if self._encoding == "bytes" else found.decode(self._encoding)
        self._push(decoded, 64)

    def _bytes(self, size: int) -> None:
        self._push(self._read(self._length(size)), 64)

    # -------------------------------------------------------------------------------------- memo

    def _put(self, size: int) -> None:
        self._memo[self._length(size)] = self._stack[-1]
        self._spend(100)

    def _memoize(self) -> None:
        self._memo[len(self._memo)] = self._stack[-1]
        self._spend(100)

    def _get(self, size: int) -> None:
        self._stack.append(self._memo[self._length(size)])

    def _protocol(self) -> None:
        if self._read(1)[0] > 5:
            raise UnpicklingError("the pickle has a protocol newer than 5")

    def _frame(self) -> None:
        self._read(8)  # how much follows in one piece: only a hint for reading ahead

    def _pop(self) -> None:
        self._stack.pop()

    def _pop_mark(self) -> None:
        self._items()

    def _duplicate(self) -> None:
        self._stack.append(self._stack[-1])


def _text(value: str) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value


def _set_state(target: object, state: Any) -> None:
    """What `pickle` does for an object of a class that is trusted."""
    if hasattr(target, "__setstate__"):
        target.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


_STOP = b"."[0]
_Action = Callable[[RestrictedUnpickler], None]
_M = RestrictedUnpickler

_ACTIONS: dict[int, _Action] = {
    code[0]: action
    for code, action in {
        b"c": _M._global,
        b"\x93": _M._stack_global,
        b"R": _M._reduce,
        b"\x81": _M._new_object,
        b"\x92": _M._new_object_with_names,
        b"b": _M._build,
        b"Q": _M._persistent,
        b"a": _M._append,
        b"e": _M._append_all,
        b"s": _M._set_item,
        b"u": _M._set_items,
        b"\x90": _M._add_all,
        b"(": _M._mark,
        b"t": _M._tuple,
        b"\x85": lambda m: m._last(1),
        b"\x86": lambda m: m._last(2),
        b"\x87": lambda m: m._last(3),
        b"\x91": _M._frozen_set,
        b")": lambda m: m._push(()),
        b"]": lambda m: m._push([], 64),
        b"}": lambda m: m._push({}, 64),
        b"\x8f": lambda m: m._push(set(), 216),
        b"N": lambda m: m._push(None),
        b"\x88": lambda m: m._push(True),
        b"\x89": lambda m: m._push(False),
        b"J": lambda m: m._push(m._number(4, "<i")),
        b"K": lambda m: m._push(m._number(1, "<B")),
        b"M": lambda m: m._push(m._number(2, "<H")),
        b"G": lambda m: m._push(m._number(8, ">d")),
        b"\x8a": lambda m: m._long(1),
        b"\x8b": lambda m: m._long(4),
        b"\x8c": lambda m: m._unicode(1),
        b"X": lambda m: m._unicode(4),
        b"\x8d": lambda m: m._unicode(8),
        b"U": lambda m: m._string(1),
        b"T": lambda m: m._string(4),
        b"C": lambda m: m._bytes(1),
        b"B": lambda m: m._bytes(4),
        b"\x8e": lambda m: m._bytes(8),
        b"q": lambda m: m._put(1),
        b"r": lambda m: m._put(4),
        b"\x94": _M._memoize,
        b"h": lambda m: m._get(1),
        b"j": lambda m: m._get(4),
        b"0": _M._pop,
        b"1": _M._pop_mark,
        b"2": _M._duplicate,
        b"\x80": _M._protocol,
        b"\x95": _M._frame,
    }.items()
}
