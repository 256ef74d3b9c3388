"""The Python executor: runs a program instruction by instruction. It is the definition.

Every array of the step is made anew in each run, by the CPU's own kernels, so results have the bits
of the ordinary step. The compiled machine does the same faster, to rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from retrograd.backend import CPU
from retrograd.backend.arrays import Array
from retrograd.backend.device import KERNELS, Kernel
from retrograd.backend.quiet import quiet
from retrograd.replay.program import Program, Slot
from retrograd.replay.recording import drawn, flat

Arrays = dict[int, Array]  # by slot
Places = dict[int, tuple[Array, int]]  # by buffer: an array in it, and where the buffer begins


def function_of(op: str) -> Kernel:
    """What an instruction's op calls."""
    if op == "drawn":
        return drawn
    if op in KERNELS:
        return partial(CPU.kernel(op), CPU.xp)
    kind, *names = op.split(".")
    if kind == "array" and names[0] in ("T", "real", "imag"):
        return getattr
    found: Any = CPU.array if kind == "array" else CPU.xp
    for name in names:
        found = getattr(found, name)
    return found  # type: ignore[no-any-return]


class Located:
    """Memory of another array, seen with a layout of its own."""

    def __init__(self, owner: Array, address: int, slot: Slot) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": slot.shape,
            "strides": slot.strides,
            "typestr": slot.dtype.str,
        }


class PythonExecutor:
    """Runs a program with the CPU's kernels, one after the other."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.functions = [function_of(x.op) for x in program.instructions]

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """See `program.Executor`."""
        places: Places = {}
        for buffer in self.program.buffers:
            if buffer.value is not None:
                places[buffer.index] = (buffer.value, CPU.address(buffer.value))
        arrays: Arrays = {}
        for slot, array in zip(self.program.inputs, inputs, strict=True):
            _bind(slot, array, arrays, places)
        with quiet():
            for instruction, function in zip(
                self.program.instructions, self.functions, strict=True
            ):
                operands = _filled(instruction.operands, arrays, places)
                keywords = _filled(instruction.keywords, arrays, places)
                found = flat(function(*operands, **keywords))
                for result, value in zip(instruction.results, found, strict=False):
                    if result is not None:
                        _bind(result, CPU.xp.asarray(value), arrays, places)
        return [array_of(slot, arrays, places) for slot in self.program.outputs]


def _bind(slot: Slot, array: Array, arrays: Arrays, places: Places) -> None:
    layout = array.shape, array.dtype, array.strides if array.size > 1 else slot.strides
    if layout != (slot.shape, slot.dtype, slot.strides):
        raise RuntimeError("replay: an array is not laid out as it was when recorded")
    arrays[slot.index] = array
    places[slot.buffer.index] = (array, CPU.address(array) - slot.offset)


def array_of(slot: Slot, arrays: Arrays, places: Places) -> Array:
    """The array of a slot: one that was made, or a view of its buffer."""
    found = arrays.get(slot.index)
    if found is None:
        owner, start = places[slot.buffer.index]
        located: Any = Located(owner, start + slot.offset, slot)
        arrays[slot.index] = found = CPU.xp.asarray(located).view(slot.dtype)
    return found


def _filled(value: Any, arrays: Arrays, places: Places) -> Any:
    """Operands with arrays in place of slots."""
    kind = type(value)
    if kind is Slot:
        return array_of(value, arrays, places)
    if kind is tuple or kind is list:
        return kind([_filled(item, arrays, places) for item in value])
    if kind is dict:
        return {name: _filled(item, arrays, places) for name, item in value.items()}
    return value
