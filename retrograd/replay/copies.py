"""Copies that nobody can tell from what they copy are left out: gradients are made in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from retrograd.replay.program import Buffer, Instruction, Program, Slot
from retrograd.replay.recording import flat

_COPIES = ("xp.array", "xp.copy_in_rows", "array.copy", "clone")


def without_copies(program: Program) -> Program:
    """The program with one buffer for a copy and its source, where nobody sees the difference."""
    reads: dict[int, int] = {}  # by buffer, the last instruction that reads it
    writes: dict[int, int] = {}
    for number, each in enumerate(program.instructions):
        for slot in flat([each.operands, list(each.keywords.values())]):
            if type(slot) is Slot:
                reads[slot.buffer.index] = number
        for target in (each.target, *each.results):
            if target is not None:
                writes[target.buffer.index] = number
    leaving = {slot.buffer.index for slot in program.outputs}
    merged: dict[int, Buffer] = {}
    kept: list[Instruction] = []
    for number, each in enumerate(program.instructions):
        pair = _copied(each)
        if pair is not None:
            source, copy = merged.get(pair[0].index, pair[0]), pair[1]
            apart = source.index in leaving or writes.get(source.index, -1) > number
            both_live = reads.get(source.index, -1) > number and writes[copy.index] > number
            if not apart and not both_live and source.kind == "own":
                merged[copy.index] = source
                reads[source.index] = max(reads[source.index], reads.get(copy.index, -1))
                writes[source.index] = max(writes[source.index], writes[copy.index])
                if copy.index in leaving:
                    leaving.add(source.index)
                continue
        kept.append(each)
    if not merged:
        return program
    slots: dict[int, Slot] = {}

    def moved(value: Any) -> Any:
        kind = type(value)
        if kind is tuple or kind is list:
            return kind([moved(item) for item in value])
        if kind is not Slot or value.buffer.index not in merged:
            return value
        if value.index not in slots:
            slots[value.index] = replace(value, buffer=merged[value.buffer.index])
        return slots[value.index]

    changed = [
        replace(
            each,
            operands=moved(each.operands),
            keywords={name: moved(value) for name, value in each.keywords.items()},
            results=moved(each.results),
            target=moved(each.target),
        )
        for each in kept
    ]
    return replace(program, instructions=changed, outputs=moved(program.outputs))


def _copied(instruction: Instruction) -> tuple[Buffer, Buffer] | None:
    """The buffers of a copy in the same layout, of the whole source."""
    if instruction.op not in _COPIES or instruction.target is not None:
        return None
    source, result = instruction.operands[0], instruction.results[0]
    if not isinstance(source, Slot) or result is None or source.buffer.kind != "own":
        return None
    facts = [(s.offset, s.shape, s.strides, s.dtype, s.buffer.nbytes) for s in (source, result)]
    return (source.buffer, result.buffer) if facts[0] == facts[1] else None
