"""What a step makes of constants alone, such as a mask of a fixed shape, is made once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from retrograd.ops.registry import OPS
from retrograd.replay.execute import PythonExecutor
from retrograd.replay.program import Buffer, Instruction, Program, Slot
from retrograd.replay.recording import flat

# memory that nobody has filled
_UNFILLED = {"xp.empty", "xp.empty_like"}


def with_constants(program: Program) -> Program:
    """The program with constants in place of instructions that only read constants."""
    written = {each.target.buffer for each in program.instructions if each.target is not None}
    leaving = {slot.buffer for slot in program.outputs}
    fixed = {buffer for buffer in program.buffers if buffer.kind == "constant"}
    done: list[Instruction] = []
    rest: list[Instruction] = []
    for each in program.instructions:
        results = [slot for slot in each.results if slot is not None]
        read = {slot.buffer for slot in _read(each)}
        if (
            each.target is None
            and _is_pure(each.op)
            and read <= fixed
            and all(s.offset == 0 and s.buffer not in written | leaving for s in results)
        ):
            done.append(each)
            fixed |= {slot.buffer for slot in results}
        else:
            rest.append(each)
    read_later = {s.buffer for each in rest for s in _read(each) if s.buffer in fixed}
    made = [s for each in done for s in each.results if s is not None and s.buffer in read_later]
    if not made:
        return program
    return _replaced(program, done, made)


def _replaced(program: Program, done: list[Instruction], made: list[Slot]) -> Program:
    """The program with the slots of `made` as constants: what some instructions give."""
    part = replace(program, instructions=done, inputs=[], outputs=made)
    buffers: dict[Buffer, Buffer] = {}
    for slot, value in zip(made, PythonExecutor(part).run([]), strict=True):
        whole = value.nbytes == slot.buffer.nbytes > 0 and value.flags.forc
        if whole and (value != value.flat[0]).any():  # else chains take it as a number
            buffers[slot.buffer] = replace(slot.buffer, kind="constant", value=value)
    slots: dict[Slot, Slot] = {}

    def moved(value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([moved(item) for item in value])
        if kind is dict:
            return {name: moved(item) for name, item in value.items()}
        if kind is not Slot or value.buffer not in buffers:
            return value
        return slots.setdefault(value, replace(value, buffer=buffers[value.buffer]))

    gone = {id(each) for each in done}  # but for those whose results are no constants
    kept = [each for each in program.instructions if id(each) not in gone]
    needed = {slot.buffer for each in kept for slot in _read(each)} - buffers.keys()
    for each in reversed(done):
        if any(slot is not None and slot.buffer in needed for slot in each.results):
            gone.remove(id(each))
            needed |= {slot.buffer for slot in _read(each)}
    kept = [each for each in program.instructions if id(each) not in gone]
    changed = [replace(x, operands=moved(x.operands), keywords=moved(x.keywords)) for x in kept]
    everything = [buffers.get(buffer, buffer) for buffer in program.buffers]
    return replace(program, buffers=everything, instructions=changed)


def _read(instruction: Instruction) -> list[Slot]:
    values = flat([instruction.operands, [*instruction.keywords.values()]])
    return [value for value in values if type(value) is Slot]


def _is_pure(op: str) -> bool:
    """Whether the same operands always give the same: other kernels may draw random numbers."""
    if op in OPS:
        return OPS[op].elementwise
    return op.startswith(("xp.", "array.")) and op not in _UNFILLED
