"""Instructions written as smaller ones: an op's neutral kernel, recorded on arrays of zeros.

`addmm` is a product and a sum for the machine, `mse_loss` a chain with a sum at its end. Where a
kernel looks at elements, or does what only a call does, its instruction stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from retrograd.backend import CPU, NAMED
from retrograd.backend.device import KERNELS
from retrograd.backend.quiet import quiet
from retrograd.random.generator import Generator
from retrograd.replay import recording
from retrograd.replay.program import Buffer, Instruction, Program, Slot
from retrograd.replay.recording import RECORDING, Recorded, Tape, flat

xp = CPU.xp


@contextmanager
def _recording(tape: Tape) -> Iterator[None]:
    before, device = recording.running[:], NAMED["cpu"]
    recording.running[:], NAMED["cpu"] = [tape], RECORDING
    try:
        yield
    finally:
        recording.running[:], NAMED["cpu"] = before, device


class _Zeros:
    """Arrays of zeros for slots; those of one buffer lie in one block of memory."""

    def __init__(self) -> None:
        self.tape = Tape()
        self.blocks: dict[Buffer, Any] = {}
        self.buffers: dict[int, Buffer] = {}  # of the tape's numbers

    def of(self, value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([self.of(item) for item in value])
        if kind is not Slot:
            return value
        if value.buffer not in self.blocks:
            block = self.blocks[value.buffer] = xp.zeros(value.buffer.nbytes, "uint8")
            self.buffers[self.tape.new_buffer(block, "input").buffer.index] = value.buffer
        block = self.blocks[value.buffer]
        array = CPU.array(value.shape, value.dtype, block, value.offset, value.strides)
        return Recorded(array, self.tape.slot_of(array))

    def run(self, instruction: Instruction) -> list[Any] | None:
        """What the kernel gives for such arrays; None if it cannot be recorded."""
        try:
            with _recording(self.tape), quiet():
                args = self.of(instruction.operands)
                options = {name: self.of(value) for name, value in instruction.keywords.items()}
                found = KERNELS[instruction.op][0](RECORDING.xp, *args, **options)
        except Exception:
            return None
        return None if self.tape.refusal is not None else flat(found)


def unfolded(instruction: Instruction, program: Program) -> list[Instruction] | None:
    """The steps of an op's kernel as instructions of the program; None if it cannot be recorded."""
    if instruction.op not in KERNELS or instruction.target is not None:
        return None
    if any([isinstance(value, Generator) for value in flat(instruction.operands)]):
        return None  # what is drawn would be a constant
    zeros = _Zeros()
    found = zeros.run(instruction)
    if found is None or len(found) != len(instruction.results):
        return None
    tape, buffers = zeros.tape, zeros.buffers
    for result, made in zip(instruction.results, found, strict=True):
        if result is None:
            continue
        if not isinstance(made, Recorded) or made.slot is None:
            return None
        if made.slot.buffer.index in buffers or _layout(made.slot) != _layout(result):
            return None
        buffers[made.slot.buffer.index] = result.buffer
    for slot in tape.slots:
        number = slot.buffer.index
        if number not in buffers:
            buffers[number] = replace(slot.buffer, index=len(program.buffers))
            program.buffers.append(buffers[number])
        slot.buffer, slot.index = buffers[number], len(program.slots)
        program.slots.append(slot)
    return tape.instructions


def _layout(slot: Slot) -> tuple[object, ...]:
    return slot.offset, slot.shape, slot.strides, slot.dtype, slot.buffer.nbytes
