"""A program for the compiled machine: elementwise instructions become chains, run block by block.

Instructions go into *groups*, in order. An elementwise one joins an earlier chain of the same shape
if nothing in between touches its memory; what a chain computes is in registers, and goes to memory
only where a later group reads it. Products and sums have instructions of their own; everything else
calls the CPU's kernel. Two instructions that touch the same bytes, one of them writing, keep their
order: within a chain they must see these bytes as the same array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from retrograd.backend import CPU
from retrograd.backend.cpu_rows import COMPILED
from retrograd.backend.expressions import Expression, Operand, Untraceable, Value, trace
from retrograd.ops.registry import OPS
from retrograd.replay.chains import (
    REALS,
    Chain,
    Group,
    Unsupported,
    dense_strides,
    is_dense,
    lowered,
    machine,
    region_of,
    slots_in,
    squeezed,
)
from retrograd.replay.products import SMALL, factors
from retrograd.replay.program import Instruction, Program, Slot
from retrograd.replay.unfolding import unfolded

_LOOK_BACK = 24  # groups that an instruction may move over
_SHORT = 2048  # elements: up to here chains take less than a call and its arrays
_LARGE_PRODUCT = 1 << 16  # multiplications: worth a call of what chooses between BLAS and own loops
_MOST_STEPS = 1000  # of a chain: more of them might need more registers than there are
_IDENTITIES = {"array.copy", "expand", "xp.broadcast_to", "xp.asarray", "xp.array"}
_IDENTITIES |= {"contiguous", "xp.ascontiguousarray", "xp.copy_in_rows"}
_FUNCTIONS = set(
    """
    where copyto copy_into iadd add_matching keep_where not_below_zero filled full full_like zeros
    zeros_like ones_like expit erf softplus log_sigmoid astype
""".split()
)
_SUMS = {"_sum_all", "sum", "xp.sum_all", "xp.sum", "array.sum", "xp.sum_to", "sum_to_size"}
_SUMS |= {"_mean_all", "mean"}
_EXTREMES = {"xp.max": 1, "array.max": 1, "amax": 1, "xp.min": 2, "array.min": 2, "amin": 2}
_ROWS = {"softmax": 0, "log_softmax": 1, "_softmax_gradient": 2, "_log_softmax_gradient": 3}
_PRODUCTS = {"mm", "bmm", "xp.matmul2d", "xp.matmul", "array.__matmul__", "mv", "addmm"}


@cache
def has_products() -> bool:
    """Whether the machine may call the BLAS that NumPy uses."""
    core: Any = getattr(CPU.xp._library, "_core", None)
    path = getattr(getattr(core, "_multiarray_umath", None), "__file__", None)
    return path is not None and machine.find_blas(path)


class Fusing:
    """Takes the instructions of a program one by one; `groups` is what becomes of them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.groups: list[Group] = []
        self.filled: dict[int, Any] = {}  # what now is in buffers that have one number everywhere
        for instruction in program.instructions:
            self.take(instruction)

    def take(self, instruction: Instruction) -> None:
        """Put an instruction into a group, or those that it is made of."""
        if self._native(instruction):
            return
        before, groups = len(self.groups), [group.copied() for group in self.groups[-_LOOK_BACK:]]
        steps = None if _is_compiled(instruction) else unfolded(instruction, self.program)
        if steps is not None and all([self._native(step) for step in steps]):
            return
        del self.groups[before:]  # as if nothing had been tried
        self.groups[len(self.groups) - len(groups) :] = groups
        self.groups.append(_calling(instruction))

    def _native(self, instruction: Instruction) -> bool:
        """Whether the machine has instructions for it; then it is in a group."""
        if instruction.target is not None:
            self.filled.pop(instruction.target.buffer.index, None)
        for way in (
            *(
                self._elementwise,
                self._sum,
                self._product,
                self._joined,
                self._reshaped,
                self._rows,
            ),
        ):
            try:
                if way(instruction):
                    return True
            except (Unsupported, Untraceable):
                continue
        return False

    # ---- elementwise

    def _elementwise(self, instruction: Instruction) -> bool:
        expression, inputs = _expression(instruction)
        targets = [s for s in (*instruction.results, instruction.target) if s is not None]
        if len(targets) != len(expression.results):
            raise Unsupported("several results")
        shape = targets[0].shape
        inputs = [squeezed(slot, shape) for slot in inputs]
        targets = [squeezed(slot, shape) for slot in targets]
        found = [v.dtype for v in expression.values] + [s.dtype for s in targets]
        numbers = {REALS.index(dtype) for dtype in found if dtype in REALS}
        for number in sorted(numbers):
            chain = Chain(shape=targets[0].shape, number=number, filled=self.filled)
            try:
                lowered(chain, expression, inputs, targets)
            except Unsupported:
                continue
            alone = not chain.conflicts(chain.reads, [], same=True)  # of its own operands
            if alone and len(chain.steps) <= _MOST_STEPS:
                self._join(chain, lambda group: lowered(group, expression, inputs, targets))
                self._note_filled(chain, targets[0])
                return True
        return False

    def _note_filled(self, chain: Chain, target: Slot) -> None:
        """Reading what was only filled with a number is a constant."""
        number = chain.number_at(chain.held[chain.key(target)])
        size = math.prod(target.shape) * target.dtype.itemsize
        if number is not None and target.buffer.kind == "own" and size == target.buffer.nbytes:
            self.filled[target.buffer.index] = number

    def _join(self, chain: Chain, put: Any) -> None:
        """Put a chain's only instruction into an earlier chain, or the chain behind all groups."""
        for group in reversed(self.groups[-_LOOK_BACK:]):
            if (
                isinstance(group, Chain)
                and (group.number, group.shape) == (chain.number, chain.shape)
                and not group.conflicts(chain.reads, chain.writes, same=True)
                and len(group.steps) + len(chain.steps) <= _MOST_STEPS
            ):
                group.filled = self.filled
                put(group)
                return
            if group.conflicts(chain.reads, chain.writes):
                break
        self.groups.append(chain)

    # ---- parts put together

    def _joined(self, instruction: Instruction) -> bool:
        """`cat` and `stack` are copies into parts of the result."""
        name, result = instruction.op.rpartition(".")[2], instruction.results[0]
        if name not in ("cat", "stack", "concatenate") or instruction.target or result is None:
            return False
        parts, *rest = instruction.operands
        axis = rest[0] if rest else instruction.keywords.get("dim", 0)
        if not isinstance(parts, (list, tuple)) or type(axis) is not int or len(rest) > 1:
            return False
        if any(type(x) is not Slot or x.dtype not in REALS for x in parts):
            return False
        axis %= len(result.shape)
        offset, stride = result.offset, result.strides[axis]
        copies = []
        for part in parts:
            shape, strides = result.shape, result.strides
            if name == "stack":
                shape, strides = (
                    shape[:axis] + shape[axis + 1 :],
                    strides[:axis] + strides[axis + 1 :],
                )
            else:
                shape = (*shape[:axis], *part.shape[axis : axis + 1], *shape[axis + 1 :])
            if part.shape != shape or part.dtype != result.dtype:
                return False
            place = Slot(len(self.program.slots), result.buffer, offset, shape, strides, part.dtype)
            self.program.slots.append(place)
            copies.append(Instruction("array.copy", (part,), {}, (place,)))
            offset += stride * (1 if name == "stack" else shape[axis])
        return all([self._elementwise(copy) for copy in copies])

    def _reshaped(self, instruction: Instruction) -> bool:
        """A new shape that takes a copy: the source into the result, seen in the source's shape."""
        name, result = instruction.op.rpartition(".")[2], instruction.results[0]
        source = instruction.operands[0]
        if name not in ("reshape", "ravel", "flatten") or instruction.target or result is None:
            return False
        if not isinstance(source, Slot) or not is_dense(result) or instruction.keywords:
            return False
        strides = dense_strides(source.shape, source.dtype.itemsize)
        place = Slot(len(self.program.slots), result.buffer, result.offset, source.shape, strides,
                     source.dtype)  # fmt: skip
        self.program.slots.append(place)
        return self._elementwise(Instruction("array.copy", (source,), {}, (place,)))

    # ---- sums

    def _sum(self, instruction: Instruction) -> bool:
        source, target = instruction.operands[:1], instruction.results[:1]
        kind = _EXTREMES.get(instruction.op, 0)
        if not (kind or instruction.op in _SUMS) or instruction.target is not None:
            return False
        if not isinstance(source[0], Slot) or not target or target[0] is None:
            return False
        slot, result = source[0], target[0]
        axes = _summed_axes(instruction, slot, result)
        dims = [a for a, n in enumerate(slot.shape) if n != 1]
        kept = [a for a in dims if a not in axes]
        left = [(n, s) for n, s in zip(result.shape, result.strides, strict=True) if n != 1]
        region, size = region_of(result), result.dtype.itemsize
        if (
            slot.dtype not in REALS
            or result.dtype != slot.dtype
            or [slot.shape[a] for a in kept] != [n for n, _ in left]
            or region[2] - region[1] != math.prod(result.shape) * size
            or any(s < size for _, s in left)
        ):
            return False
        count = math.prod(slot.shape[a] for a in axes)
        slot = squeezed(slot, slot.shape)
        if count == 1:
            seen = replace(result, shape=slot.shape, strides=tuple([s for _, s in left]))
            op, operands = ("array.copy", (slot,)) if kind else ("xp.add", (slot, 0.0))  # -0.0: 0.0
            return self._elementwise(Instruction(op, operands, {}, (seen,)))
        places = dict(zip(kept, left, strict=True))
        strides = tuple([places[a][1] // size if a in places else 0 for a in dims])
        mean = "mean" in instruction.op
        if (mean or kind) and not count:
            return False
        scale = 1.0 / count if mean else 1.0

        def put(chain: Chain) -> None:
            chain.sums.append((chain.load(slot), result, strides, scale, kind))
            chain.writes.append((region_of(result), None))

        chain = Chain(shape=slot.shape, number=REALS.index(slot.dtype), filled=self.filled)
        put(chain)
        self._join(chain, put)
        return True

    # ---- rows

    def _rows(self, instruction: Instruction) -> bool:
        """The softmax of short rows and its kin."""
        if instruction.op not in _ROWS or instruction.target is not None or instruction.keywords:
            return False
        *given, dim = instruction.operands
        slots = [s for s in (*given, instruction.results[0]) if isinstance(s, Slot)]
        out = slots[-1]
        if len(slots) != len(given) + 1 or not out.shape or dim not in (-1, len(out.shape) - 1):
            return False
        if out.dtype not in REALS or not 0 < math.prod(out.shape) <= _SHORT:
            return False
        if any(s.shape != out.shape or s.dtype != out.dtype or not is_dense(s) for s in slots):
            return False
        columns = out.shape[-1]
        places = tuple([(s.buffer.index, s.offset) for s in (slots[0], slots[-2], out)])
        group = Group(writes=[(region_of(out), None)])
        group.reads += [(region_of(s), None) for s in slots[:-1]]
        if group.conflicts(group.reads, []):
            return False
        rows = math.prod(out.shape) // columns
        group.made = (3, (REALS.index(out.dtype), _ROWS[instruction.op], rows, columns, places))
        self.groups.append(group)
        return True

    # ---- products

    def _product(self, instruction: Instruction) -> bool:
        if instruction.op not in _PRODUCTS or instruction.target is not None:
            return False
        a, b = instruction.operands[:2]
        bias: Slot | None = None
        out = instruction.results[0]
        if instruction.op == "addmm":
            first, a, b = instruction.operands
            if factors(instruction) is None or not isinstance(first, Slot) or out is None:
                return False
            if first.dtype != out.dtype:
                return False
            bias = first
        if not isinstance(a, Slot) or not isinstance(b, Slot) or out is None:
            return False
        if a.dtype not in REALS or b.dtype != a.dtype or out.dtype != a.dtype:
            return False
        if not 2 <= len(a.shape) <= 3 or not 1 <= len(b.shape) <= 3 or not math.prod(out.shape):
            return False
        vector = len(b.shape) == 1
        (rows, inner), columns = a.shape[-2:], 1 if vector else b.shape[-1]
        batch = math.prod(out.shape) // (rows * columns)
        lead = (batch,) if max(len(a.shape), len(b.shape)) == 3 else ()
        if out.shape != (*lead, rows, *(() if vector else (columns,))):
            return False
        item = a.dtype.itemsize
        matrices = [
            _matrix(a, (batch, rows, inner), item),
            _matrix(b, (batch, inner, columns), item, column=vector),
            _matrix(out, (batch, rows, columns), item, column=vector),
        ]
        added = None if bias is None else _matrix(bias, (batch, rows, columns), item)
        if rows * columns * inner > _LARGE_PRODUCT and "xp.matmul" in COMPILED and not vector:
            if is_dense(out) and len(a.shape) == len(b.shape):
                self.groups.append(_calling(Instruction("xp.matmul", (a, b), {}, (out,))))
                return True
        if rows * columns * inner > SMALL and not (
            has_products()
            and _blas(matrices[0], rows, inner)
            and _blas(matrices[1], inner, columns)
            and _blas(matrices[2], rows, columns, result=True)
        ):
            return False
        made = (REALS.index(a.dtype), batch, rows, columns, inner, *matrices, added)
        group = Group(writes=[(region_of(out), None)])
        group.reads += [(region_of(slot), None) for slot in (a, b, bias) if slot is not None]
        group.made = (1, made)
        if group.conflicts(group.reads, []):
            return False
        self.groups.append(group)
        return True


def _calling(instruction: Instruction) -> Group:
    """A group that calls a kernel."""
    group = Group(made=instruction)
    group.reads = [(region_of(s), None) for s in slots_in([*_operands(instruction)])]
    targets = [instruction.target, *instruction.results]
    group.writes = [(region_of(s), None) for s in targets if s is not None]
    return group


def _is_compiled(instruction: Instruction) -> bool:
    """Whether a compiled kernel does it, in fewer passes over the memory than chains would."""
    sizes = [math.prod(slot.shape) for slot in slots_in([*_operands(instruction)])]
    return instruction.op in COMPILED and max(sizes, default=0) > _SHORT


def _blas(matrix: tuple[int, ...], rows: int, columns: int, result: bool = False) -> bool:
    """Whether BLAS takes a matrix as it lies; see `is_plain` in machine/module.c."""
    _, _, _, of_row, of_column = matrix
    if (of_column == 1 or columns == 1) and (of_row >= columns or rows == 1):
        return True
    return not result and (of_row == 1 or rows == 1) and (of_column >= rows or columns == 1)


def _matrix(
    slot: Slot, shape: tuple[int, int, int], item: int, column: bool = False
) -> tuple[int, ...]:
    """A slot as a batch of matrices: buffer, offset, and three strides in elements."""
    own, strides = slot.shape, slot.strides
    if column:  # a vector is a column
        own, strides = (*own, 1), (*strides, item)
    own, strides = (1, 1, 1, *own)[-3:], (0, 0, 0, *strides)[-3:]
    if any(s % item for s in strides) or any(
        n not in (1, m) for n, m in zip(own, shape, strict=True)
    ):
        raise Unsupported("a matrix is laid out oddly")
    found = [
        0 if n == 1 and m > 1 else s // item for n, m, s in zip(own, shape, strides, strict=True)
    ]
    return (slot.buffer.index, slot.offset, *found)


def _summed_axes(instruction: Instruction, slot: Slot, result: Slot) -> set[int]:
    """The dimensions that a sum runs over; what the kernel was told, or what its result lacks."""
    rank = len(slot.shape)
    name = instruction.op.rpartition(".")[2]
    given = dict(zip(("dim", "keepdim"), instruction.operands[1:], strict=False))
    given |= instruction.keywords
    positional = len(instruction.operands) > 2 and "." in instruction.op
    if positional or any(given.get(k) is not None for k in ("dtype", "out", "where", "initial")):
        raise Unsupported("a sum with options")
    if name.endswith("_all"):
        return set(range(rank))
    if name.startswith("sum_to"):
        lead = rank - len(result.shape)
        kept = result.shape
        return {a for a in range(rank) if a < lead or (kept[a - lead] == 1 and slot.shape[a] != 1)}
    dim = given.get("dim", given.get("axis"))
    if dim is None or dim == ():
        return set(range(rank))
    several = dim if isinstance(dim, (tuple, list)) else (dim,)
    return {axis % rank for axis in several} if rank else set()


def _operands(instruction: Instruction) -> Iterator[object]:
    yield from instruction.operands
    yield from instruction.keywords.values()


def _expression(instruction: Instruction) -> tuple[Expression, list[Slot]]:
    """An elementwise instruction's expression, and the slots that are its inputs."""
    slots: list[Slot] = []

    def operand(value: object) -> object:
        if isinstance(value, Slot):
            if value.buffer.value is not None and not value.shape:
                return value.buffer.value.reshape(-1)[0]  # a number with a dtype
            slots.append(value)
            return Operand(value.dtype)
        if any(slots_in(value)):
            raise Unsupported("lists of arrays")
        return value

    if instruction.op == "array.__setitem__":
        _, index, written = instruction.operands
        if index is not Ellipsis and isinstance(written, Slot) and written.shape:
            raise Unsupported("elements in the order of a mask")
    if instruction.op in _IDENTITIES:
        source = instruction.operands[0]
        if not isinstance(source, Slot) or any(slots_in(list(instruction.operands[1:]))):
            raise Unsupported("not an array")
        value = Value("input", (0,), source.dtype)
        return Expression([value], [value]), [source]
    if not _is_elementwise(instruction.op):
        raise Unsupported("not elementwise")
    options = {k: operand(v) for k, v in instruction.keywords.items() if k != "out"}
    operands = [operand(o) for o in instruction.operands]
    try:
        return trace(instruction.op, operands, options), slots
    except Exception as error:  # a kernel checks what is no matter of single elements
        raise Unsupported(str(error)) from None


def _is_elementwise(op: str) -> bool:
    """Whether each element of the result comes from its own elements of the operands."""
    kind, _, name = op.partition(".")
    if not name:
        return op in OPS and OPS[op].elementwise
    ufunc = isinstance(getattr(CPU.xp._library, name, None), CPU.xp._library.ufunc)
    return name in _FUNCTIONS or (ufunc if kind == "xp" else name.startswith("__"))
