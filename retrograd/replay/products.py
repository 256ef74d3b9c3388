"""Small products before they are fused: sums join them, a matrix that many take is put in line."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

from retrograd.replay.chains import REALS, dense_strides
from retrograd.replay.program import Buffer, Instruction, Program, Slot
from retrograd.replay.recording import flat

SMALL = (
    4096  # multiplications: up to here the machine's own loops do a product; see machine/module.c
)
_PRODUCTS = ("mm", "xp.matmul2d", "addmm")
_SUMS = ("xp.add", "add")
_PLAIN: tuple[dict[str, object], ...] = ({}, {"alpha": 1}, {"alpha": 1, "beta": 1})
_FEW_ROWS = 3  # for more, the machine puts the second matrix in line itself
_OFTEN = 3


def factors(instruction: Instruction) -> tuple[Slot, Slot, Slot] | None:
    """The two matrices and the result of a small product, with what is added to it or without."""
    if instruction.op not in _PRODUCTS or instruction.target is not None:
        return None
    a, b = instruction.operands[-2:]
    out = instruction.results[0]
    if not isinstance(a, Slot) or not isinstance(b, Slot) or out is None:
        return None
    if len(a.shape) != 2 or len(b.shape) != 2 or instruction.keywords not in _PLAIN:
        return None
    if a.dtype not in REALS or b.dtype != a.dtype or out.dtype != a.dtype:
        return None
    return (a, b, out) if math.prod(a.shape) * b.shape[1] <= SMALL else None


def with_joined_sums(program: Program) -> Program:
    """The program with ``addmm`` for a small product that is only added to something."""
    uses = Counter([s.buffer for x in program.instructions for s in _read(x)])
    leaving = {slot.buffer for slot in program.outputs}
    makers: dict[Slot, int] = {}  # products that may join a sum, by what they give
    written: dict[Buffer, int] = {}  # the last instruction that writes a buffer
    found: list[Instruction | None] = []
    for number, each in enumerate(program.instructions):
        joined = _joined(each, makers, found, written)
        if joined is not None:
            found[joined[0]], each = None, joined[1]
        found.append(each)
        for slot in (each.target, *each.results):
            if slot is not None:
                written[slot.buffer] = number
        product = factors(each)
        if product is not None and each.op != "addmm":
            buffer = product[2].buffer
            if buffer.kind == "own" and uses[buffer] == 1 and buffer not in leaving:
                makers[product[2]] = number
    return replace(program, instructions=[each for each in found if each is not None])


def _joined(
    each: Instruction,
    makers: dict[Slot, int],
    before: list[Instruction | None],
    written: dict[Buffer, int],
) -> tuple[int, Instruction] | None:
    """The product that a sum takes in, and both as one instruction."""
    if each.op not in _SUMS or each.target is not None or each.keywords not in _PLAIN:
        return None
    if len(each.operands) != 2 or each.results[0] is None:
        return None
    for product, other in (each.operands, each.operands[::-1]):
        if not isinstance(product, Slot) or not isinstance(other, Slot) or product not in makers:
            continue
        number, result = makers[product], each.results[0]
        maker = before[number]
        if maker is None or other.dtype != product.dtype or result.dtype != product.dtype:
            continue
        if result.shape != product.shape or not _fits(other.shape, product.shape):
            continue
        a, b = maker.operands
        if any(isinstance(s, Slot) and written.get(s.buffer, -1) > number for s in (a, b)):
            continue
        options: dict[str, object] = {"alpha": 1, "beta": 1}
        return number, Instruction("addmm", (other, a, b), options, each.results, None, each.site)
    return None


def _fits(shape: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether a shape can be broadcast to another."""
    lead = len(wanted) - len(shape)
    return lead >= 0 and all(n in (1, m) for n, m in zip(shape, wanted[lead:], strict=True))


def with_matrices_in_line(program: Program) -> Program:
    """The program with one copy, row by row, of a matrix that many products of few rows take."""
    written = {s.buffer for x in program.instructions for s in (x.target, *x.results) if s}
    taken: Counter[tuple[object, ...]] = Counter()
    for each in program.instructions:
        product = factors(each)
        if product is not None and _is_scattered(product) and product[1].buffer not in written:
            taken[_layout(product[1])] += 1
    often = {layout for layout, count in taken.items() if count >= _OFTEN}
    if not often:
        return program
    copies: dict[tuple[object, ...], Slot] = {}
    buffers, slots = program.buffers.copy(), program.slots.copy()
    found: list[Instruction] = []
    for each in program.instructions:
        product = factors(each)
        if product is not None and _is_scattered(product) and _layout(product[1]) in often:
            matrix = product[1]
            copy = copies.get(_layout(matrix))
            if copy is None:
                strides = dense_strides(matrix.shape, matrix.dtype.itemsize)
                size = math.prod(matrix.shape) * matrix.dtype.itemsize
                buffers.append(Buffer(len(buffers), size, "own"))
                copy = Slot(len(slots), buffers[-1], 0, matrix.shape, strides, matrix.dtype)
                slots.append(copy)
                copies[_layout(matrix)] = copy
                found.append(Instruction("array.copy", (matrix,), {}, (copy,)))
            each = replace(each, operands=(*each.operands[:-1], copy))
        found.append(each)
    return replace(program, buffers=buffers, slots=slots, instructions=found)


def _is_scattered(product: tuple[Slot, Slot, Slot]) -> bool:
    a, b, _ = product
    return a.shape[0] <= _FEW_ROWS and b.shape[1] > 2 and b.strides[1] != b.dtype.itemsize


def _layout(slot: Slot) -> tuple[object, ...]:
    return slot.buffer.index, slot.offset, slot.shape, slot.strides


def _read(instruction: Instruction) -> list[Slot]:
    values = flat([instruction.operands, [*instruction.keywords.values()]])
    return [value for value in values if type(value) is Slot]
