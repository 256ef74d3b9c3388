"""What a recorded step depends on: where each value was found, and what must be there again.

A guard looks at one place: a key of a dictionary, an index of a list, a cell, an attribute that no
code of the user's computes. Where it begins is a *register*: registers 0 and 1 are the call's
arguments, the others objects that were there when the step was recorded, or that an earlier guard
loads at each check (a batch, a state carried over from call to call). `check` is the definition;
the compiled check does the same from the same records.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from retrograd import core
from retrograd.backend import CPU, backend_of
from retrograd.tensor import Tensor


class Access(enum.IntEnum):
    """How to get from a register's object to the value that is looked at."""

    SELF = 0
    KEY = 1  # of a dictionary
    INDEX = 2  # of a list or tuple
    CELL = 3
    ATTRIBUTE = 4  # by `getattr`, where that runs no code of the user's


class Test(enum.IntEnum):
    """What must hold for the value; `expected` says more."""

    SAME = 0  # this object
    EQUAL = 1  # a plain value of the same type that is equal
    ABSENT = 2  # the dictionary has no such key
    LENGTH = 3
    KEYS = 4  # a dictionary's keys, in order
    TYPE = 5
    FACTS = 6  # of a tensor, see `facts`
    LOAD = 7  # a value of this type, which goes to the register `target`
    REGISTER = 8  # the object in the register `target`
    GRAD = 9  # the facts of a tensor's `.grad`, or None


class Record(NamedTuple):
    """One guard."""

    access: Access
    test: Test
    register: int
    key: Any
    expected: Any
    target: int
    path: str  # for people: what the place is called in the step


MISSING: Any = object()
PLAIN = frozenset([int, float, complex, str, bytes, bool, type(None), type(...), range, slice])


def is_plain(value: object) -> bool:
    """Whether a value is known by its type and equality alone."""
    return type(value) in PLAIN or (isinstance(value, tuple) and all(map(is_plain, value)))


def same(found: Any, expected: Any) -> bool:
    """Identity first; of plain values then type and value (0.0 is not -0.0, nan is nan)."""
    if found is expected:
        return True
    kind = type(expected)
    if type(found) is not kind or not is_plain(expected):
        return False
    if issubclass(kind, tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if kind is slice:
        return same(
            (found.start, found.stop, found.step), (expected.start, expected.stop, expected.step)
        )
    if kind is float:
        if found != found:
            return bool(expected != expected)
        return bool(found == expected) and math.copysign(1, found) == math.copysign(1, expected)
    if kind is complex:
        return same((found.real, found.imag), (expected.real, expected.imag))
    return bool(found == expected)


def facts(tensor: Any) -> tuple[object, ...]:
    """What the operations of a step depend on, beside a tensor's elements."""
    array, meta = real(tensor._array), tensor._meta
    hooked = meta is not None and (
        bool(meta.hooks) or bool(meta.post_accumulate_hooks) or meta.retains_grad
    )
    rare = meta is not None and (
        meta.inference or bool(meta.tangents) or meta.grad_dtype is not ...
    )
    return (
        *(type(tensor), type(array), array.dtype, array.shape, array.strides),
        *(tensor.requires_grad, tensor.grad_fn is None, tensor._view is None, hooked, rare),
    )


def real(array: Any) -> Any:
    """An array itself; of one that is being recorded, the one inside."""
    return getattr(array, "held", array)


def _start(array: Any) -> int:
    if type(array) is not CPU.array:
        return backend_of(array).address(array)
    found: int = array.__array_interface__["data"][0]
    return found


def bounds(array: Any) -> tuple[int, int]:
    """The first byte of an array, and the one after its last."""
    array = real(array)
    low = high = _start(array)
    if array.size == 0:
        return low, low
    for size, stride in zip(array.shape, array.strides, strict=True):
        low, high = low + min(0, stride * (size - 1)), high + max(0, stride * (size - 1))
    return low, high + array.itemsize


class Guards:
    """The guards of one recorded step, in the order in which they are checked."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.registers: list[Any] = [None, None]  # None where a check fills it
        self.loaded: list[int] = []  # the registers of the values that `check` gives
        self._known: set[tuple[object, ...]] = set()
        self._apart: tuple[int, ...] = ()  # registers of tensors
        self._overlaps: frozenset[tuple[int, int]] = frozenset()  # numbers in `_apart`
        self._regions: tuple[tuple[int, int, int], ...] = ()  # bounds, from the first element on

    def constant(self, value: object) -> int:
        """A register for an object that stays."""
        self.registers.append(value)
        return len(self.registers) - 1

    def add(
        self,
        access: Access,
        test: Test,
        register: int,
        key: Any,
        expected: Any,
        path: str,
        target: int = -1,
    ) -> None:
        """Add a guard, once."""
        known = (access, test, register, type(key), key if is_plain(key) else id(key), id(expected))
        if known not in self._known:
            self._known.add(known)
            self.records.append(Record(access, test, register, key, expected, target, path))

    def load(self, access: Access, register: int, key: Any, value: object, path: str) -> int:
        """A register that a check fills with what it finds, a value of the same type."""
        target = self.constant(None)
        self.records.append(Record(access, Test.LOAD, register, key, type(value), target, path))
        self.loaded.append(target)
        return target

    def tensors_apart(self, tensors: Sequence[tuple[int, Any]]) -> None:
        """Guard which of these tensors (register, tensor) share memory with which."""
        self._apart = tuple(register for register, _ in tensors)
        places = [bounds(tensor._array) for _, tensor in tensors]
        self._overlaps = frozenset(_overlapping(places))
        starts = [_start(real(tensor._array)) for _, tensor in tensors]
        self._regions = tuple(
            (register, low - start, high - start)
            for register, (low, high), start in zip(self._apart, places, starts, strict=True)
        )

    def checker(self) -> Callable[[tuple[Any, ...], dict[str, Any]], list[Any] | None]:
        """The compiled form of `check`, where there is one: of the guards that there are now."""
        compiled = core.compiled("Guards")
        if compiled is None:
            return self.check
        registers, loaded = tuple(self.registers), tuple(self.loaded)
        overlaps = tuple(self._overlaps)
        made: Callable[[tuple[Any, ...], dict[str, Any]], list[Any] | None] = compiled(
            tuple(self.records), registers, loaded, self._regions, overlaps, same, facts
        )
        return made

    def check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
        """The loaded values, if all guards hold; None if one does not."""
        values = self.registers.copy()
        values[0], values[1] = args, kwargs
        if self._failing(values) is not None:
            return None
        return [values[register] for register in self.loaded]

    def why_not(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """A sentence about the first guard that does not hold; None if all do."""
        values = self.registers.copy()
        values[0], values[1] = args, kwargs
        failing = self._failing(values)
        return failing if failing is None or isinstance(failing, str) else _told(failing, values)

    def broken(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Record]:
        """All guards that do not hold now; one that needs a value which is gone is none of them."""
        values = self.registers.copy()
        values[0], values[1] = args, kwargs
        return [record for record in self.records if not _holds(record, values)]

    def _failing(self, values: list[Any]) -> Record | str | None:
        for record in self.records:
            if not _holds(record, values):
                return record
        places = [bounds(values[register]._array) for register in self._apart]
        if frozenset(_overlapping(places)) != self._overlaps:
            return "tensors share memory that did not, or the other way round"
        return None


def _overlapping(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    filled = [number for number, (low, high) in enumerate(places) if low < high]
    order = sorted(filled, key=places.__getitem__)
    found: list[tuple[int, int]] = []
    for position, one in enumerate(order):
        for other in order[position + 1 :]:
            if places[other][0] >= places[one][1]:
                break
            found.append((min(one, other), max(one, other)))
    return found


def value_at(access: Access, holder: Any, key: Any) -> Any:
    """What is at a place; MISSING if nothing is."""
    try:
        if access is Access.KEY:
            return holder.get(key, MISSING)
        if access is Access.INDEX:
            return holder[key]
        if access is Access.CELL:
            return holder.cell_contents
        return holder if access is Access.SELF else real(getattr(holder, key))
    except (IndexError, ValueError, AttributeError, TypeError):
        return MISSING


def _holds(record: Record, values: list[Any]) -> bool:
    found = value_at(record.access, values[record.register], record.key)
    expected, test = record.expected, record.test
    if test is Test.ABSENT or found is MISSING:
        return test is Test.ABSENT and found is MISSING
    if test is Test.LOAD:
        values[record.target] = found
        return bool(type(found) is expected)
    if test is Test.FACTS or test is Test.GRAD:
        found = found.grad if test is Test.GRAD else found
        return bool((None if found is None else facts(found)) == expected)
    if test is Test.LENGTH:
        return bool(len(found) == expected)
    if test is Test.KEYS:
        return len(found) == len(expected) and all(map(same, found, expected))
    if test is Test.TYPE:
        return type(found) is expected
    return found is values[record.target] if test is Test.REGISTER else same(found, expected)


def _told(record: Record, values: list[Any]) -> str:
    found = value_at(record.access, values[record.register], record.key)
    if record.test is Test.ABSENT:
        return f"{record.path} was not there, and is now"
    if found is MISSING:
        return f"{record.path} is not there any more"
    if record.test in (Test.EQUAL, Test.SAME) and is_plain(record.expected):
        return f"{record.path} was {record.expected!r} and is {found!r}"
    if record.test is Test.FACTS and isinstance(found, Tensor):
        before, after = record.expected, facts(found)
        names = "class array dtype shape strides requires_grad leaf base hooks rare".split()
        rows = zip(names, before, after, strict=True)
        said = [f"{name} was {a} and is {b}" for name, a, b in rows if a != b]
        return f"{record.path}: {', '.join(said)}"
    if record.test in (Test.LENGTH, Test.KEYS):
        return f"{record.path} has other contents"
    if record.test in (Test.TYPE, Test.LOAD):
        return f"{record.path} was a {record.expected.__name__} and is a {type(found).__name__}"
    return f"{record.path} is another object than before"
