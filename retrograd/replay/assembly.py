"""What the compiled machine is told: steps on registers, places in memory, one arena.

What a chain computes goes to memory only where a later group or somebody outside reads it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from retrograd import dtypes
from retrograd.backend.arrays import Array
from retrograd.backend.cpu_rows import COMPILED
from retrograd.backend.quiet import quiet
from retrograd.replay.chains import REALS, Chain, Group, machine, slots_in, spread
from retrograd.replay.constants import with_constants
from retrograd.replay.copies import without_copies
from retrograd.replay.execute import function_of
from retrograd.replay.fusing import Fusing
from retrograd.replay.products import with_joined_sums, with_matrices_in_line
from retrograd.replay.program import Instruction, Program, Slot


def chain_text(chain: Chain, needed: set[int]) -> tuple[Any, ...] | None:
    """What the machine is told of a chain that stores what lies in `needed` buffers only."""
    wanted: list[tuple[int, tuple[str, tuple[Any, ...]]]] = []  # after which step, what else
    for register, slot, after in chain.stored.values():
        if slot.buffer.index in needed:
            kind = 1 if slot.dtype == dtypes.B8 else 0 if slot.dtype == REALS[chain.number] else 4
            place = (slot.buffer.index, slot.offset, spread(slot, chain.shape), kind)
            wanted.append((after, ("STORE", (register, place))))
    for register, slot, strides, scale, kind in chain.sums:
        if slot.buffer.index in needed:
            entry = (slot.buffer.index, slot.offset, strides, math.prod(slot.shape), scale, kind)
            wanted.append((len(chain.steps), ("SUM", (register, entry))))
    if not wanted:
        return None
    return _Writer(chain, wanted).text()


class _Writer:
    """Numbers the places, constants, sums and registers of a chain."""

    def __init__(self, chain: Chain, wanted: list[Any]) -> None:
        self.chain = chain
        self.places: list[Any] = []
        self.sums: list[Any] = []
        self.constants: list[float] = []
        self.order = self._ordered(wanted)

    def _ordered(self, wanted: list[Any]) -> list[_Line]:
        """The steps that somebody needs, those of uniform values first; stores where they were."""
        chain = self.chain
        needed = {use[1][0] for _, use in wanted}
        for number in range(len(chain.steps) - 1, -1, -1):
            name, operands = chain.steps[number]
            if number in needed and name not in ("LOAD", "CONSTANT"):
                needed.update(operands)
        lines: list[_Line] = []
        rest: list[_Line] = []
        waiting = sorted(wanted, key=lambda use: use[0])
        for number, (name, operands) in enumerate(chain.steps):
            while waiting and waiting[0][0] <= number:
                rest.append((None, *waiting.pop(0)[1]))
            if number in needed:
                (lines if chain.uniform[number] else rest).append((number, name, operands))
        rest += [(None, *use) for _, use in waiting]
        self.uniform_steps = len(lines)
        return lines + _paired(rest)

    def text(self) -> tuple[Any, ...]:
        registers = self._registers()
        steps: list[tuple[int, ...]] = []
        for number, name, operands in self.order:
            to = 0 if number is None else registers[number]
            if name == "LOAD":
                used = [len(self.places)]
                self.places.append(operands)
            elif name == "CONSTANT":
                used = [len(self.constants)]
                self.constants.append(operands[0])
            elif name in _USES:
                where = self.places if name == "STORE" else self.sums
                where.append(operands[1])
                used = [registers[operands[0]], len(where) - 1]
            else:
                used = [registers[operand] for operand in operands]
            steps.append((machine.OPERATIONS[name], to, *used, *(0,) * (3 - len(used))))
        shape, places, sums = _collapsed(self.chain.shape, self.places, self.sums)
        count = max(registers.values()) + 1
        return (
            self.chain.number, shape, places, sums, self.constants, steps, self.uniform_steps, count
        )  # fmt: skip

    def _registers(self) -> dict[int, int]:
        """A register for each value, free again after its last use."""
        last: dict[int, int] = {}
        for place, (_, name, operands) in enumerate(self.order):
            last.update(dict.fromkeys(_read(name, operands), place))
        found: dict[int, int] = {}
        free: list[int] = []
        count = 0
        for place, (number, name, operands) in enumerate(self.order):
            if number is not None:
                if free and place >= self.uniform_steps:
                    found[number] = free.pop()
                else:
                    found[number], count = count, count + 1
            used = set(_read(name, operands))
            free += [found[o] for o in used if last[o] == place and not self.chain.uniform[o]]
            if number is not None and number not in last:
                last[number] = place
        return found


def _paired(steps: list[_Line]) -> list[_Line]:
    """Two steps as one where only the second reads what the first gives: half the stores."""
    uses = Counter([operand for _, name, operands in steps for operand in _read(name, operands)])
    free: dict[int, tuple[int, str, tuple[Any, ...]]] = {}  # values that one step will read
    found: list[_Line | None] = []
    for number, name, operands in steps:
        if name not in ("add", "subtract", "multiply") or number is None:
            found.append((number, name, operands))
            continue
        first = next((o for o in operands if o in free), None)
        if first is None:
            if uses[number] == 1:
                free[number] = len(found), name, operands
            found.append((number, name, operands))
            continue
        second = operands[1] if operands[0] == first else operands[0]
        place, inner, given = free.pop(first)
        found[place] = None
        outer = "from" if name == "subtract" and operands[1] == first else name
        found.append((number, f"{inner}_{outer}", (*given, second)))
    return [line for line in found if line is not None]


def _read(name: str, operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values that a step reads."""
    return () if name in ("LOAD", "CONSTANT") else operands[:1] if name in _USES else operands


_USES = ("STORE", "SUM")
_MOST_ARGUMENTS = 24  # of a kernel; see machine/object.h
_Line = tuple[int | None, str, tuple[Any, ...]]  # the value, the operation, its operands


def _collapsed(shape: tuple[int, ...], places: list[Any], sums: list[Any]) -> tuple[Any, ...]:
    """The iteration with as few dimensions as all places allow, in the order of memory."""
    rows = [list(place[2]) for place in places] + [list(total[2]) for total in sums]
    dims = [d for d, n in enumerate(shape) if n != 1]
    guide = next((row for row in reversed(rows[: len(places)]) if any(row)), None)
    if guide is not None:
        dims.sort(key=lambda d: -abs(guide[d]))
    merged: list[tuple[int, list[int]]] = []  # size, stride of each row
    for d in dims:
        strides = [row[d] for row in rows]
        if merged and all(a == b * shape[d] for a, b in zip(merged[-1][1], strides, strict=True)):
            merged[-1] = merged[-1][0] * shape[d], strides
        else:
            merged.append((shape[d], strides))
    merged = merged or [(1, [0] * len(rows))]
    new = [tuple([strides[r] for _, strides in merged]) for r in range(len(rows))]
    found = [(*place[:2], new[r], *place[3:]) for r, place in enumerate(places)]
    totals = [(*s[:2], new[len(places) + r], *s[3:]) for r, s in enumerate(sums)]
    return tuple([n for n, _ in merged]), found, totals


def arena_places(sizes: dict[int, int], spans: dict[int, tuple[int, int]]) -> dict[int, int]:
    """Where buffers lie in one block of memory; one that has ended leaves its place to the next."""
    found: dict[int, int] = {}
    free: dict[int, list[int]] = {}  # places by size
    ending: dict[int, list[int]] = {}
    top = time = 0
    for buffer in sorted(sizes, key=lambda b: spans[b]):
        begin, end = spans[buffer]
        for ended in range(time, begin):
            for other in ending.pop(ended, ()):
                free.setdefault(_whole(sizes[other]), []).append(found[other])
        time = begin
        places = free.get(_whole(sizes[buffer]))
        found[buffer] = places.pop() if places else top
        top = max(top, found[buffer] + _whole(sizes[buffer]))
        ending.setdefault(end, []).append(buffer)
    return found


def _whole(size: int) -> int:
    return -(-size // 64) * 64


class MachineExecutor:
    """Runs a program on the compiled machine; what it does equals `PythonExecutor` to rounding."""

    def __init__(self, program: Program) -> None:
        program = with_constants(without_copies(program))
        program = with_matrices_in_line(with_joined_sums(program))
        self.groups = groups = Fusing(program).groups
        visible = {s.buffer.index for s in program.outputs}
        visible |= {b.index for b in program.buffers if b.kind != "own"}
        spans: dict[int, tuple[int, int]] = {}
        texts: dict[int, Any] = {}
        self._views: dict[int, int] = {}
        self._slots: list[Slot] = []
        needed = set(visible)
        for number in range(len(groups) - 1, -1, -1):  # what a later group reads must be stored
            group = groups[number]
            text = chain_text(group, needed) if isinstance(group, Chain) else group.made
            if text is None:
                continue
            touched = _touched(group, text)
            needed |= {region[0] for region, _ in group.reads}
            for buffer in touched:
                spans[buffer] = (number, spans.get(buffer, (0, number))[1])
            texts[number] = (0, text) if isinstance(group, Chain) else text
        self._given = _given_by_calls(texts.values())
        ending: dict[int, list[int]] = {}
        for buffer in self._given - visible:
            ending.setdefault(spans[buffer][1], []).append(buffer)
        lines = []
        for number in sorted(texts):
            text = texts[number]
            line = self._called(text) if isinstance(text, Instruction) else text
            lines.append((*line, tuple(ending.get(number, ()))))
        self.inputs = [self._view(slot) for slot in program.inputs]
        self.outputs = [self._view(slot) for slot in program.outputs]
        self._machine = machine.Machine(
            self._buffers(program, spans), self._layouts(program), self.inputs, self.outputs, lines
        )
        calls = any(line[0] == 2 for line in lines)
        self.run = self._run_quietly if calls else self._machine.run

    def _run_quietly(self, inputs: Sequence[Array]) -> list[Array]:
        with quiet():
            found: list[Array] = self._machine.run(inputs)
        return found

    def _view(self, slot: Slot) -> int:
        number = self._views.setdefault(slot.index, len(self._slots))
        if number == len(self._slots):
            self._slots.append(slot)
        return number

    def _called(self, instruction: Instruction) -> tuple[int, Any]:
        """An instruction that calls a kernel and puts what it gives into its places."""
        function = function_of(instruction.op)
        names = tuple(instruction.keywords)
        given = (*instruction.operands, *instruction.keywords.values())
        results = tuple([-1 if s is None else self._view(s) for s in instruction.results])
        if len(given) > _MOST_ARGUMENTS or any(
            not isinstance(value, Slot) and any(slots_in(value)) for value in given
        ):
            operands = self._numbered([instruction.operands, instruction.keywords])
            given, names = (), ()
            function = partial(_call_nested, function, operands, lambda n: self._machine.view(n))
        views = tuple([self._view(v) if isinstance(v, Slot) else -1 for v in given])
        constants = tuple([None if isinstance(v, Slot) else v for v in given])
        compiled = COMPILED.get(instruction.op)
        first, second = (function, None) if compiled is None else (compiled, function)
        return 2, (first, second, constants, views, names, results)

    def _numbered(self, value: Any) -> Any:
        """Operands with the numbers of views in place of slots."""
        kind = type(value)
        if kind is Slot:
            return _View(self._view(value))
        if kind is tuple or kind is list:
            return kind([self._numbered(item) for item in value])
        if kind is dict:
            return {name: self._numbered(item) for name, item in value.items()}
        return value

    def _buffers(self, program: Program, spans: dict[int, tuple[int, int]]) -> list[Any]:
        visible = {s.buffer.index for s in program.outputs}
        sizes = {
            b.index: b.nbytes
            for b in program.buffers
            if b.kind == "own" and b.index not in visible | self._given and b.index in spans
        }
        places = arena_places(sizes, spans)
        return [
            (0, b.nbytes, None) if b.kind == "input"
            else (1, b.nbytes, b.value) if b.kind == "constant"
            else (4, b.nbytes, b.index in visible) if b.index in self._given
            else (3, b.nbytes, None) if b.index in visible
            else (2, b.nbytes if b.index in places else 0, places.get(b.index, 0))
            for b in program.buffers
        ]  # fmt: skip

    def _layouts(self, program: Program) -> list[Any]:
        written = {
            s.buffer.index for i in program.instructions for s in [i.target] if s is not None
        }
        return [
            (s.buffer.index, s.offset, s.shape, s.strides, s.dtype, s.buffer.index in written)
            for s in self._slots
        ]


def _given_by_calls(texts: Iterable[Any]) -> set[int]:
    """The buffers whose memory is what a kernel gives: own ones that are all of one result."""
    results = [s for x in texts if isinstance(x, Instruction) for s in x.results if s is not None]
    return {
        s.buffer.index
        for s in results
        if s.buffer.kind == "own"
        and s.buffer.nbytes  # nothing keeps the order of what has no bytes
        and s.offset == 0
        and math.prod(s.shape) * s.dtype.itemsize == s.buffer.nbytes
    }


def _call_nested(function: Any, operands: Any, view: Any) -> Any:
    """Call a kernel with arrays that are in lists."""
    args, keywords = _filled(operands, view)
    return function(*args, **keywords)


def _touched(group: Group, text: Any) -> set[int]:
    """The buffers whose memory a group really uses."""
    if not isinstance(group, Chain):
        return {region[0] for region, _ in (*group.reads, *group.writes)}
    return {place[0] for place in (*text[2], *text[3])}


class _View(int):
    """The number of a view."""


def _filled(value: Any, view: Any) -> Any:
    kind = type(value)
    if kind is _View:
        return view(value)
    if kind is tuple or kind is list:
        return kind([_filled(item, view) for item in value])
    if kind is dict:
        return {name: _filled(item, view) for name, item in value.items()}
    return value
