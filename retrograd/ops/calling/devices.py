"""The operands of one call on one device."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from retrograd.backend import CPU, Backend, backend_of

_cpu_array = CPU.array


def on_one_device(arrays: list[Any]) -> tuple[Backend, list[Any]]:
    """The backend of a call's arrays, and the arrays, all of them there.

    A tensor of the CPU without dimensions is a number to other devices, as in PyTorch, and goes
    along; any other mixture is an error.
    """
    for array in _flat(arrays):
        if type(array) is not _cpu_array:
            break
    else:
        return CPU, arrays
    found = {backend_of(array) for array in _flat(arrays)}
    others = [backend for backend in found if backend is not CPU]
    if len(found) == 1:
        return found.pop(), arrays
    if len(others) == 1 and (
        others[0].name == "cpu"  # arrays of a step that is recorded
        or all(array.ndim == 0 for array in _flat(arrays) if type(array) is _cpu_array)
    ):
        return others[0], _moved(arrays, others[0])
    names = sorted(backend.name for backend in found)
    raise RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{names[1]} and {names[0]}!"
    )


def _flat(arrays: list[object]) -> Iterator[Any]:
    """All arrays among the operands; the others are numbers, or None."""
    for value in arrays:
        if isinstance(value, list):
            yield from _flat(value)
        elif hasattr(value, "dtype"):
            yield value


def _moved(value: object, backend: Backend) -> Any:
    if isinstance(value, list):
        return [_moved(item, backend) for item in value]
    return backend.beside(value) if type(value) is _cpu_array else value
