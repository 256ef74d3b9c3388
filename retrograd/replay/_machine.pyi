"""Runs the instructions of a replayed step; see `machine/machine.h`."""

from collections.abc import Sequence
from typing import Any

from retrograd.backend.arrays import Array

OPERATIONS: dict[str, int]

class Machine:
    def __new__(
        cls,
        buffers: list[tuple[int, int, Any]],
        views: list[tuple[Any, ...]],
        inputs: list[int],
        outputs: list[int],
        instructions: list[tuple[int, Any]],
        /,
    ) -> Machine: ...
    def run(self, arrays: Sequence[Array], /) -> list[Array]: ...
    def view(self, number: int, /) -> Array: ...

SOURCES: str

def builds() -> tuple[str, ...]: ...
def use_build(name: str, /) -> str: ...
def find_blas(library: str, /) -> bool: ...
