"""Chains: elementwise steps on numbered values, and what groups of instructions touch in memory."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from typing import Any

from retrograd import dtypes
from retrograd.backend import CPU
from retrograd.backend.expressions import Expression, Value
from retrograd.backend.kernels.built import check_sources
from retrograd.backend.quiet import quiet
from retrograd.replay.program import Slot


def _found() -> tuple[Any, str]:
    """The compiled machine, None where it is not in use; and a few words on that."""
    try:
        if os.environ.get("RETROGRAD_KERNELS") == "0":
            raise ImportError("switched off by RETROGRAD_KERNELS=0")
        module = import_module("retrograd.replay._machine")
        check_sources(module, "machine")
    except (ImportError, RuntimeError) as error:  # RuntimeError: built for a newer NumPy
        return None, f"not in use ({error}): plans call the backend's functions"
    return module, "in use"


machine, STATUS = _found()


Strides = tuple[int, ...]
Key = tuple[int, int, Strides, str]  # buffer, offset, strides in the chain's iteration, dtype
Region = tuple[int, int, int]  # buffer, first byte, the one after the last

REALS = (dtypes.F32, dtypes.F64)
_LOADED = {dtypes.B8: 1, dtypes.I64: 2, CPU.xp.dtype("int32"): 3}
_ALIASES = {"abs": "absolute", "true_divide": "divide", "conjugate": "positive"}
_LOGICAL = {"bitwise_and": "logical_and", "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}
_LOGICAL |= {"invert": "logical_not", "not_equal": "logical_xor"}


class Unsupported(Exception):
    """The machine has no instruction for it: the CPU's kernel is called."""


def slots_in(value: object) -> Iterator[Slot]:
    """The slots in nested operands."""
    if isinstance(value, Slot):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from slots_in(item)
    elif isinstance(value, dict):
        yield from slots_in(list(value.values()))


def region_of(slot: Slot) -> Region:
    """The bytes between the first and the last that a slot touches."""
    if not math.prod(slot.shape):
        return slot.buffer.index, slot.offset, slot.offset
    reach = [(n - 1) * stride for n, stride in zip(slot.shape, slot.strides, strict=True)]
    low = slot.offset + sum([r for r in reach if r < 0])
    high = slot.offset + sum([r for r in reach if r > 0]) + slot.dtype.itemsize
    return slot.buffer.index, low, high


def overlap(a: Region, b: Region) -> bool:
    """Whether two regions have bytes in common."""
    return a[0] == b[0] and a[1] < b[2] and b[1] < a[2]


def dense_strides(shape: tuple[int, ...], itemsize: int) -> Strides:
    """The strides of an array that lies row by row."""
    sizes = [itemsize]
    for n in reversed(shape[1:]):
        sizes.append(sizes[-1] * n)
    return tuple(reversed(sizes)) if shape else ()


def is_dense(slot: Slot) -> bool:
    """Whether an array lies row by row."""
    wanted = dense_strides(slot.shape, slot.dtype.itemsize)
    return all(n == 1 or s == w for n, s, w in zip(slot.shape, slot.strides, wanted, strict=True))


def spread(slot: Slot, shape: tuple[int, ...]) -> Strides:
    """The strides with which a slot is read when it is broadcast to a shape."""
    lead = len(shape) - len(slot.shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(slot.shape, shape[lead:], strict=True)):
        raise Unsupported("shapes do not broadcast")
    own = [0 if n == 1 else s for n, s in zip(slot.shape, slot.strides, strict=True)]
    return (0,) * lead + tuple(own)


def squeezed(slot: Slot, shape: tuple[int, ...]) -> Slot:
    """A slot without the dimensions that are 1 in what it is broadcast to: chains have none."""
    if 1 not in shape and len(slot.shape) <= len(shape):
        return slot
    strides = spread(slot, shape)
    lead = len(shape) - len(slot.shape)
    kept = [d for d in range(lead, len(shape)) if shape[d] != 1]
    sizes = tuple([slot.shape[d - lead] for d in kept])
    return replace(slot, shape=sizes, strides=tuple([strides[d] for d in kept]))


@dataclass(slots=True, eq=False)
class Group:
    """Instructions that are done together, and what they touch."""

    reads: list[tuple[Region, Key | None]] = field(default_factory=list)
    writes: list[tuple[Region, Key | None]] = field(default_factory=list)
    made: Any = None  # of a product or a call: what the machine is told, as it stands or a function

    def copied(self) -> Group:
        """The group as it is now, whatever joins it later."""
        kept: Any = {each.name: getattr(self, each.name) for each in fields(self)}
        copies: Any = {n: f.copy() if isinstance(f, (list, dict)) else f for n, f in kept.items()}
        return type(self)(**copies)

    def conflicts(self, reads: list[Any], writes: list[Any], same: bool = False) -> bool:
        """Whether an instruction must stay behind; `same`: not if it sees the bytes alike."""
        for mine, theirs in ((self.writes, reads), (self.writes, writes), (self.reads, writes)):
            for region, key in mine:
                for other, seen in theirs:
                    if overlap(region, other) and not (same and key is not None and key == seen):
                        return True
        return False


Register = int


@dataclass(slots=True, eq=False)
class Chain(Group):
    """Elementwise steps on values that are numbered; `kind` of a value is "b" for truths."""

    shape: tuple[int, ...] = ()
    number: int = 0  # of float32, float64
    steps: list[tuple[str, tuple[Any, ...]]] = field(default_factory=list)  # one makes one value
    kinds: list[str] = field(default_factory=list)
    uniform: list[bool] = field(default_factory=list)
    known: dict[tuple[str, tuple[Any, ...]], Register] = field(default_factory=dict)
    held: dict[Key, Register] = field(default_factory=dict)  # what is in memory, or will be
    stored: dict[Key, tuple[Register, Slot, int]] = field(default_factory=dict)  # and after which
    sums: list[tuple[Register, Slot, Strides, float, int]] = field(default_factory=list)
    filled: dict[int, Any] = field(default_factory=dict)  # buffers of one number everywhere

    def value(
        self, primitive: str, operands: tuple[Any, ...], kind: str, uniform: bool
    ) -> Register:
        """The value of a step; the same step gives the same value."""
        found = self.known.get((primitive, operands))
        if found is None:
            found = self.known[primitive, operands] = len(self.steps)
            self.steps.append((primitive, operands))
            self.kinds.append(kind)
            self.uniform.append(uniform)
        return found

    def constant(self, number: Any) -> Register:
        if isinstance(number, complex):
            raise Unsupported("complex numbers")
        sign = math.copysign(1.0, number)  # equal zeros are not the same
        found = self.value("CONSTANT", (float(number), sign), "f", True)
        return self.step("truth_of", (found,), "b") if isinstance(number, bool) else found

    def step(self, primitive: str, operands: tuple[Register, ...], kind: str) -> Register:
        numbers = [self.number_at(operand) for operand in operands]
        if None not in numbers and kind == "f" and primitive in _FOLDED:
            given = [REALS[self.number].type(number) for number in numbers]
            with quiet():
                return self.constant(float(getattr(CPU.xp._library, primitive)(*given)))
        uniform = all([self.uniform[operand] for operand in operands])
        return self.value(primitive, operands, kind, uniform)

    def number_at(self, register: Register) -> float | None:
        """The number that a value always is, if it is one."""
        name, operands = self.steps[register]
        return operands[0] if name == "CONSTANT" else None

    def key(self, slot: Slot) -> Key:
        return slot.buffer.index, slot.offset, spread(slot, self.shape), slot.dtype.str

    def load(self, slot: Slot) -> Register:
        """What a slot holds: a register, if the chain has computed it."""
        key = self.key(slot)
        if slot.buffer.index in self.filled and key not in self.held:
            return self.constant(self.filled[slot.buffer.index])
        value = slot.buffer.value
        if value is not None and value.size == 1 and value.dtype == REALS[self.number]:
            return self.constant(value.item())
        if key not in self.held:
            kind = _LOADED.get(slot.dtype, 0 if slot.dtype == REALS[self.number] else 4)
            if kind == 4 and slot.dtype not in REALS:
                raise Unsupported(f"elements of type {slot.dtype}")
            uniform = not any(key[2])
            operands = (slot.buffer.index, slot.offset, key[2], kind)
            self.held[key] = self.value("LOAD", operands, "b" if kind == 1 else "f", uniform)
            self.reads.append((region_of(slot), key))
        return self.held[key]

    def store(self, slot: Slot, register: Register) -> None:
        key = self.key(slot)
        broadcast = any(not s and n > 1 for s, n in zip(key[2], self.shape, strict=True))
        if broadcast and 0 not in self.shape:
            raise Unsupported("a target is broadcast")
        self.held[key] = register
        self.stored[key] = register, slot, len(self.steps)
        self.writes.append((region_of(slot), key))

    # ---- expressions

    def number_of(self, register: Register) -> Register:
        is_truth = self.kinds[register] == "b"
        return self.step("number_of", (register,), "f") if is_truth else register

    def truth_of(self, register: Register) -> Register:
        return register if self.kinds[register] == "b" else self.step("truth_of", (register,), "b")

    def lower(self, value: Value, found: dict[Value, Register], inputs: Sequence[Slot]) -> Register:
        """One step of an expression as a step of the chain."""
        real, operands = REALS[self.number], value.operands
        if value.primitive == "constant":
            return self.constant(operands[0])
        if value.primitive == "input":
            return self.load(inputs[operands[0]])
        if value.dtype not in (real, dtypes.B8):
            raise Unsupported(f"values of type {value.dtype}")
        if any(
            isinstance(o, Value)
            and o.dtype not in (real, dtypes.B8)
            and (value.primitive != "astype" or o.primitive != "input" or value.dtype != real)
            for o in operands
        ):
            raise Unsupported("values of several types")
        given = [found[o] if isinstance(o, Value) else self.constant(o) for o in operands]
        truths = all([self.kinds[g] == "b" for g in given])
        name = _ALIASES.get(value.primitive, value.primitive)
        if name in ("astype", "positive"):
            return self.number_of(given[0]) if value.dtype == real else self.truth_of(given[0])
        if name == "where":
            mask, *rest = self.truth_of(given[0]), *given[1:]
            if value.dtype == real:
                rest = [self.number_of(g) for g in rest]
            elif any([self.kinds[g] != "b" for g in rest]):
                raise Unsupported("a choice between truths and numbers")
            return self.step("where", (mask, *rest), self.kinds[rest[0]])
        if truths and name in _LOGICAL:
            name = _LOGICAL[name]
        if name.startswith("logical"):
            return self.step(name, tuple([self.truth_of(g) for g in given]), "b")
        if name not in machine.OPERATIONS or (value.dtype != real and name not in _COMPARISONS):
            raise Unsupported(f"{name} of {value.dtype}")
        kind = "f" if value.dtype == real else "b"
        return self.step(name, tuple([self.number_of(g) for g in given]), kind)


_FOLDED = {"add", "subtract", "multiply", "divide", "negative", "square", "reciprocal", "sqrt"}
_COMPARISONS = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"}
_COMPARISONS |= {"isnan", "isinf", "isfinite"}


def lowered(
    chain: Chain, expression: Expression, inputs: Sequence[Slot], targets: Sequence[Slot]
) -> None:
    """Put an expression behind the steps of a chain."""
    found: dict[Value, Register] = {}
    for value in expression.values:
        if value.primitive != "input" or value in expression.results or _is_read(value, expression):
            found[value] = chain.lower(value, found, inputs)
    for value, target in zip(expression.results, targets, strict=True):
        register = found[value]
        if target.dtype == dtypes.B8:
            register = chain.truth_of(register)
        elif target.dtype in REALS:
            register = chain.number_of(register)
        else:
            raise Unsupported(f"results of type {target.dtype}")
        if target.shape != chain.shape:
            raise Unsupported("results of several shapes")
        chain.store(target, register)


def _is_read(value: Value, expression: Expression) -> bool:
    return any([value in other.operands for other in expression.values])
