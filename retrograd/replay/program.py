"""What a recorded step is: a list of instructions on arrays that have places in memory.

Everything else of `replay` reads or writes these classes: `recording` makes a `Program`, `execute`
runs one as it is written down (the definition), `fusing` turns one into the compiled machine's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Literal, Protocol

from retrograd.backend.arrays import Array, DType


@dataclass(slots=True, eq=False)
class Buffer:
    """Memory: given at each run (an input), fixed when recorded (a constant), or the plan's own.

    An input's memory begins with the first element of the array that is bound to it.
    """

    index: int
    nbytes: int
    kind: Literal["input", "constant", "own"]
    value: Array | None = None  # of a constant: the array that begins where the buffer does


@dataclass(slots=True, eq=False)
class Slot:
    """An array in a buffer. Views of one array are slots of one buffer, made by no instruction."""

    index: int
    buffer: Buffer
    offset: int  # in bytes, as the strides are
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType


@dataclass(slots=True, eq=False)
class Instruction:
    """One kernel: an op's (a name of `KERNELS`), or ``xp.<function>``, or ``array.<method>``.

    Operands are slots, plain values, and tuples and lists of both. What the kernel gives is put
    into `results`, in order; None stands for what is no array, and for the target itself.
    """

    op: str
    operands: tuple[object, ...]
    keywords: dict[str, object]
    results: tuple[Slot | None, ...]
    target: Slot | None = None  # what is written in place
    site: tuple[CodeType, int] | None = None  # the user's line, as code and instruction


@dataclass(slots=True, eq=False)
class Program:
    """Instructions in order, from the arrays bound to `inputs` to those of `outputs`."""

    buffers: list[Buffer] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    inputs: list[Slot] = field(default_factory=list)
    outputs: list[Slot] = field(default_factory=list)


class Executor(Protocol):
    """What runs a program: `execute.PythonExecutor`, or the compiled machine."""

    def __init__(self, program: Program) -> None: ...

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs for these inputs, which have the layouts of the program's input slots.

        An output that somebody else still holds from an earlier run keeps its memory.
        """
        ...
