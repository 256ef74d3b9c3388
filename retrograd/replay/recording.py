"""The recording backend: arrays of the CPU that write down what is done to them.

While a step is recorded, its tensors hold `Recorded` arrays. NumPy cannot read them, so what is not
written down cannot happen unseen. Every function and kernel called with them runs the CPU's on the
arrays inside and becomes an instruction; views become slots of the same buffer. After a refusal
they compute on, and write nothing down any more.
"""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

from retrograd.backend import CPU, Backend
from retrograd.backend.arrays import Array
from retrograd.backend.device import BACKENDS, NAMED, Kernel, RawTable
from retrograd.lifecycle.site import user_site
from retrograd.random.state import default_generator
from retrograd.replay.program import Buffer, Instruction, Slot

ndarray: type[Any] = CPU.array
_GENERIC = CPU.relatives[0]  # NumPy's numbers


class Recorded:
    """An array of a step that is recorded: `held` has the elements, `slot` says where they lie."""

    __slots__ = ("held", "slot")
    __array_ufunc__ = None  # operators of NumPy's arrays leave the other operand's to us
    __array_priority__ = 2000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, held: Array, slot: Slot | None) -> None:
        self.held = held
        self.slot: Any = slot

    def __array__(self, *_: object, **__: object) -> Any:
        raise TypeError("NumPy cannot read the arrays of a step that is recorded")

    def __repr__(self) -> str:
        return f"recorded({self.held!r})"

    @property
    def base(self) -> Any:
        """None if the array has its memory for itself."""
        return self.held.base

    def __getitem__(self, index: object) -> Any:
        return emit("array.__getitem__", ndarray.__getitem__, (self, index))

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(len(self)))

    def __len__(self) -> int:
        return len(self.held)


def _fact(name: str) -> property:
    return property(lambda self: getattr(self.held, name))


def _view(name: str) -> property:
    def get(self: Recorded) -> Any:
        return emit(f"array.{name}", getattr, (self, name))

    def put(self: Recorded, value: object) -> None:
        getattr(self, name)[...] = value

    return property(get, put)


def _reading(name: str) -> Callable[..., Any]:
    def read(self: Recorded, *args: object) -> Any:
        refuse("the elements of a tensor are read")
        return getattr(self.held, name)(*args)

    return read


def _method(name: str) -> Callable[..., Any]:
    function = getattr(ndarray, name)

    def method(self: Recorded, *args: object, **keywords: object) -> Any:
        return emit(f"array.{name}", function, (self, *args), keywords)

    return method


def _operator(name: str) -> Callable[..., Any]:
    function = getattr(ndarray, name)
    in_place = name.startswith("__i") and name != "__invert__"

    def operator(self: Recorded, *others: object) -> Any:
        if any(not isinstance(x, (Recorded, ndarray, _GENERIC, *_NUMBERS)) for x in others):
            return NotImplemented
        found = emit(f"array.{name}", function, (self, *others))
        return self if in_place else found

    return operator


_NUMBERS = (int, float, complex)
_FACTS = "shape dtype strides ndim size itemsize nbytes flags"
_READ = "__bool__ __float__ __int__ __complex__ __index__ item tolist"
_METHODS = """
    all any argmax argmin argpartition argsort astype clip conj conjugate copy cumprod cumsum
    diagonal dot max mean min nonzero prod ravel repeat reshape round searchsorted squeeze std sum
    swapaxes take trace transpose var view flatten fill put sort partition __setitem__
"""
_BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift"
for _names, _kind in (
    (_FACTS, _fact),
    (_READ, _reading),
    (_METHODS, _method),
    ("T real imag", _view),
):
    for _name in _names.split():
        setattr(Recorded, _name, _kind(_name))
for _name in "neg pos abs invert lt le eq ne gt ge".split():
    setattr(Recorded, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _BINARY.split():
    for _prefix in ("", "r", "i"):
        setattr(Recorded, f"__{_prefix}{_name}__", _operator(f"__{_prefix}{_name}__"))

# -------------------------------------------------------------------------------- instructions

# What writes, and which operand: everything else leaves its operands alone.
WRITES = {
    **{"iadd": 0, "add_matching": 0, "copy_into": 0, "copyto": 0, "add_at": 0, "reduce_at": 1},
    **{"put": 0, "put_along_axis": 0, "place": 0, "putmask": 0, "fill_diagonal": 0},
}
_WRITING_METHODS = {"fill", "put", "sort", "partition", "__setitem__"}
# What answers with facts of layout or of types, not of elements.
_LAYOUT = """
    add_matching shares_memory may_share_memory result_type can_cast ndim shape size iscomplexobj
    isrealobj broadcast_shapes promote_types min_scalar_type issubdtype isdtype finfo iinfo
""".split()
# What gives arrays whose shapes follow from elements.
_DYNAMIC = """
    nonzero masked_select bincount _unique2 _unique_consecutive _unique_dim _distinct _masked_take
    array.nonzero xp.nonzero xp.flatnonzero xp.argwhere xp.unique xp.compress xp.extract
    xp.bincount
""".split()


def _is_number(op: str, args: tuple[Any, ...]) -> bool:
    """Whether a call only makes an array of a number, or gives such a one another type."""
    first: Any = args[0] if args else None
    if op == "xp.asarray":
        return isinstance(first, _NUMBERS)
    return op == "array.astype" and first.slot is not None and first.slot.buffer.kind == "constant"


_INDEXING = ("__getitem__", "index", ".repeat")


def _has_mask(operands: object, op: str) -> bool:
    slots = [x for x in flat(operands)[1:] if type(x) is Slot]
    return any(x.dtype.kind == "b" or op.endswith(".repeat") for x in slots)


def target_of(op: str, args: tuple[Any, ...], keywords: dict[str, Any], found: object) -> Any:
    """The operand that a call writes to, or None."""
    if op == "drawn":  # some fill an array that they are given
        return next((x for x in args if type(x) is Recorded and x.held is found), None)
    if keywords.get("out") is not None:
        return keywords["out"]
    kind, _, name = op.partition(".")
    if kind == "array" and (
        name in _WRITING_METHODS or (name[:3] == "__i" and name != "__invert__")
    ):
        return args[0]
    place = WRITES.get(name) if kind == "xp" else None
    return None if place is None or found is False else args[place]


def emit(
    op: str, function: Kernel, args: tuple[Any, ...], keywords: dict[str, Any] | None = None
) -> Any:
    """Call a function of the CPU on the arrays inside, and write the call down."""
    keywords = keywords or {}
    tape = current()
    if tape is None:
        found = function(*_bare(args, None), **_bare(keywords, None))
        strange = running and running[0].thread != threading.get_ident()
        plain = strange and not _has_recorded((args, keywords))  # another thread's new array
        return found if plain else _dressed(found, None)
    tape.check_draws()
    NAMED["cpu"] = CPU  # what kernels make inside is not the step's
    try:
        found = function(*_bare(args, tape), **_bare(keywords, tape))
    except Exception:
        tape.refuse("an operation fails, perhaps because of the elements")
        raise
    finally:
        NAMED["cpu"] = RECORDING
        tape.position = position()
    return tape.note(op, args, keywords, found)


def position() -> tuple[object, ...]:
    """Where the default generator stands."""
    words = default_generator._words
    return (*default_generator._position(), words[-1] if words.size else None)


def _bare(value: Any, tape: Tape | None) -> Any:
    """What the CPU's functions take; an array that the tape has not seen ends the recording."""
    kind = type(value)
    if kind is Recorded:
        return value.held
    if kind is tuple or kind is list:
        return kind([_bare(item, tape) for item in value])
    if kind is dict:
        return {name: _bare(item, tape) for name, item in value.items()}
    if kind is ndarray and tape is not None and value.size and tape.place_of(value) is None:
        tape.refuse("an array takes part whose origin is not known")
    return value


def _has_recorded(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_recorded, value))
    return type(value) is Recorded or (isinstance(value, dict) and _has_recorded([*value.values()]))


def _dressed(value: Any, tape: Tape | None) -> Any:
    if isinstance(value, (ndarray, _GENERIC)):
        held = CPU.xp.asarray(value)
        return Recorded(held, None if tape is None else tape.slot_of(held))
    if isinstance(value, (tuple, list)):
        kind = type(value) if type(value) in (tuple, list) else tuple
        return kind([_dressed(item, tape) for item in value])
    return value


def flat(value: Any) -> list[Any]:
    """The values in nested tuples and lists, in order."""
    if not isinstance(value, (tuple, list)):
        return [value]
    return [part for item in value for part in flat(item)]


class Tape:
    """The instructions of a recording, with the memory that they work on.

    All arrays are kept while it runs, so that no two have the same address.
    """

    def __init__(self) -> None:
        self.buffers: list[Buffer] = []
        self.slots: list[Slot] = []
        self.instructions: list[Instruction] = []
        self.refusal: str | None = None
        self.refused_at: tuple[Any, int] | None = None
        self.thread = threading.get_ident()
        self.position = position()
        self._kept: list[Array] = []
        self._starts: list[int] = []
        self._regions: list[tuple[int, int, Buffer]] = []  # in the order of addresses
        self._known: dict[tuple[object, ...], Slot] = {}

    def refuse(self, reason: str, site: tuple[Any, int] | None = None) -> None:
        """End the recording: the step is not one that can be replayed. The first reason stays."""
        if self.refusal is None:
            self.refusal = reason
            self.refused_at = site or user_site(1)

    def check_draws(self) -> None:
        """Random numbers are drawn by instructions alone: others would not be drawn again."""
        if position() != self.position:
            self.refuse("random numbers are drawn in a way that cannot be repeated")

    # ---- memory

    def place_of(self, array: Array) -> tuple[Buffer, int] | None:
        """The buffer that an array lies in, and how far its first element is from the start."""
        low, high, address = bounds(array)
        place = bisect_right(self._starts, low) - 1
        if place < 0 or low == high:
            return None
        start, end, buffer = self._regions[place]
        return (buffer, address - start) if high <= end else None

    def new_buffer(self, array: Array, kind: Any) -> Slot:
        """A buffer for the memory of an array that lies in none, and the array's slot."""
        low, high, address = bounds(array)
        buffer = Buffer(len(self.buffers), high - low, kind)
        self.buffers.append(buffer)
        self._kept.append(array)
        if low != high:
            place = bisect_right(self._starts, low)
            if (place and self._regions[place - 1][1] > low) or (
                place < len(self._starts) and self._starts[place] < high
            ):
                self.refuse("tensors from outside of the step overlap in memory")
            self._starts.insert(place, low)
            self._regions.insert(place, (low, high, buffer))
        return self.new_slot(array, buffer, address - low)

    def new_slot(self, array: Array, buffer: Buffer, offset: int) -> Slot:
        """The slot of an array in a buffer: one for each layout."""
        facts = (buffer.index, offset, array.shape, array.strides, array.dtype)
        if array.size and facts in self._known:
            return self._known[facts]
        slot = Slot(len(self.slots), buffer, offset, array.shape, array.strides, array.dtype)
        self.slots.append(slot)
        self._known[facts] = slot
        return slot

    def slot_of(self, array: Array) -> Slot:
        """The slot of what a function gave: a view of memory that is known, or a new buffer."""
        place = self.place_of(array)
        if place is None:
            return self.new_buffer(array, "own")
        self._kept.append(array)
        return self.new_slot(array, *place)

    def fixed(self, array: Array) -> Slot:
        """The slot of elements that are the same in every run; nothing may write to them."""
        slot = self.new_buffer(array, "constant")
        slot.buffer.value = array
        return slot

    def constant(self, array: Array) -> Recorded:
        """Elements that the step makes from data of Python: a copy, as it may write to them."""
        fixed, made = self.fixed(array.copy(order="K")), self.slot_of(array)
        self._append("array.copy", (fixed, "K"), {}, (made,), None)
        return Recorded(array, made)

    # ---- calls

    def note(self, op: str, args: tuple[Any, ...], keywords: dict[str, Any], found: Any) -> Any:
        """Write a call down that was done, and give its result out as recorded arrays."""
        args, keywords = _with_named_out(op, args, keywords)
        written = target_of(op, args, keywords, found)
        if _is_number(op, args) and isinstance(found, ndarray):
            return Recorded(found, self.fixed(found))
        before = len(self.buffers)
        result = _dressed(found, self)
        parts = flat(result)
        fresh = tuple(
            part.slot if type(part) is Recorded and part.slot.buffer.index >= before else None
            for part in parts
        )
        if written is None and op.startswith("xp.") and op[3:] not in _LAYOUT:
            if any(isinstance(part, (bool, int, float, complex)) for part in parts):
                self.refuse("the elements of a tensor are read")
        if written is not None or any(fresh):
            target = None if written is None else _slots(written, self)
            if target is not None and target.buffer.kind == "constant":
                self.refuse("a constant is written")
            operands = _slots(args, self)
            if op in _DYNAMIC or (op.endswith(_INDEXING) and _has_mask(operands, op)):
                self.refuse("the shape of a result depends on the elements of a tensor")
            self._append(op, operands, _slots(keywords, self), fresh, target)
        return result

    def _append(
        self,
        op: str,
        operands: tuple[Any, ...],
        keywords: dict[str, Any],
        results: tuple[Slot | None, ...],
        target: Slot | None,
    ) -> None:
        site: Any = user_site(2)
        made = Instruction(op, operands, keywords, results, target, site if site[0] else None)
        self.instructions.append(made)


def _with_named_out(
    op: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """``exp(x, out)`` as ``exp(x, out=out)``: what is written is seen by its name."""
    function = getattr(CPU.xp._library, op[3:], None) if op.startswith("xp.") else None
    count = function.nin if isinstance(function, CPU.xp._library.ufunc) else len(args)
    return (
        (args[:count], {"out": args[count], **keywords}) if len(args) > count else (args, keywords)
    )


def _slots(value: Any, tape: Tape) -> Any:
    """A call's arguments as an instruction names them."""
    kind = type(value)
    if kind is Recorded:
        if value.slot is None:
            tape.refuse("an array takes part that is not of this recording")
        return value.slot
    if kind is tuple or kind is list:
        return kind([_slots(item, tape) for item in value])
    if kind is dict:
        return {name: _slots(item, tape) for name, item in value.items()}
    if kind is ndarray:
        return tape.slot_of(value)
    return value


def bounds(array: Array) -> tuple[int, int, int]:
    """The first byte of an array's memory, the one after the last, and its first element's."""
    low = high = address = CPU.address(array)
    if not array.size:
        return low, low, address
    for size, stride in zip(array.shape, array.strides, strict=True):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + array.itemsize, address


# ------------------------------------------------------------------------------------- backend

running: list[Tape] = []  # the recording that is under way, if one is


def current() -> Tape | None:
    """The tape of this thread, while it is recorded and nothing was refused."""
    if not running:
        return None
    tape = running[0]
    return tape if tape.refusal is None and tape.thread == threading.get_ident() else None


def refuse(reason: str) -> None:
    """End the recording of this thread, if there is one."""
    tape = current()
    if tape is not None:
        tape.refuse(reason)


class _Functions:
    """An array library, or a part of it, whose functions are written down when they are called."""

    def __init__(self, name: str, target: Any) -> None:
        self.__name__ = name
        self._target = target

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._target, name)
        op = f"{self.__name__}.{name}"
        if isinstance(found, ModuleType):
            found = _Functions(op, found)
        elif not isinstance(found, type) and callable(found):
            found = _written_down(op, found)
        self.__dict__[name] = found
        return found


def _written_down(op: str, function: Kernel) -> Kernel:
    def run(*args: Any, **keywords: Any) -> Any:
        return emit(op, function, args, keywords)

    return run


_ARRAY: Any = Recorded  # to the engine it is an array


class _Raw(RawTable):
    def __getattr__(self, name: str) -> Kernel:
        self.__dict__[name] = found = _written_down(name, getattr(CPU.raw, name))
        return found


class RecordingBackend(Backend):
    """The arrays of a step that is recorded; to everybody they are on the CPU."""

    def __init__(self) -> None:
        super().__init__("cpu", _ARRAY, None)
        functions: Any = _Functions("xp", CPU.xp)
        self.xp = functions
        self.raw = functions.raw = _Raw(self)

    def kernel(self, name: str) -> Kernel:
        function = partial(CPU.kernel(name), CPU.xp)
        return lambda _, *args, **keywords: emit(name, function, args, keywords)

    def drawn(self, function: Callable[..., Array], *args: Any) -> Any:
        return emit("drawn", drawn, (function, *args))

    def beside(self, array: Array) -> Any:
        tape = current()
        known = tape is not None and tape.place_of(array) is not None
        if not known:
            refuse("a tensor takes part that nobody has named")
        return self.from_numpy(array) if known else Recorded(array, None)

    def as_result(self, value: Any) -> Any:
        return value if type(value) in BACKENDS else self.xp.asarray(value)

    def address(self, array: Any) -> int:
        return CPU.address(array.held)

    def from_numpy(self, array: Array, *, non_blocking: bool = False) -> Any:
        tape = current()
        if tape is None:
            return Recorded(array, None)
        known = tape.place_of(array) is not None
        return Recorded(array, tape.slot_of(array)) if known else tape.constant(array)

    def to_numpy(self, array: Any, *, non_blocking: bool = False) -> Array:
        refuse("the elements of a tensor are read")
        held: Array = array.held
        return held


def drawn(function: Callable[..., Array], *args: Any) -> Array:
    """Random numbers: the instruction draws anew in each run."""
    return function(*args)


RECORDING = RecordingBackend()
BACKENDS[_ARRAY] = RECORDING
