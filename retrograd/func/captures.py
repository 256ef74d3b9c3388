"""Tensors that a function under a transform finds by itself, without being given them.

To write them is forbidden: they would keep a history that ends in the transform.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import islice
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING

from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, VersionCell

if TYPE_CHECKING:
    from retrograd.nn.module import Module

_DEPTH = 4  # a function in a function, and a list that it knows
_ITEMS = 100  # of a list or dictionary

# what PyTorch calls ops whose number is a tensor to it
_OVERLOADS = {name: f"{name}.Tensor" for name in ("add_", "sub_", "mul_", "div_")}


class Capture:
    """A tensor as it was when the transform began."""

    __slots__ = ("history", "tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        cell = tensor._cell
        self.tensor = tensor
        self.version = 0 if cell is None else cell.version
        self.history = (tensor._grad_fn, tensor._output_nr, tensor._requires_grad)

    def refuse_write(self, allowed: Iterable[VersionCell | None]) -> None:
        """Raise if it was written since, unless its memory is also that of an argument."""
        tensor = self.tensor
        cell = tensor._cell
        if cell is None or cell.version == self.version or cell in allowed:
            return
        if cell.writer == "instance_norm":  # its statistics, which PyTorch writes by other means
            return
        tensor._grad_fn, tensor._output_nr, tensor._requires_grad = self.history
        writer = _OVERLOADS.get(str(cell.writer), cell.writer)
        raise runtime_error(
            "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to "
            f"call in-place operation (aten::{writer}) that would mutate a captured Tensor. "
            "This is not supported; please rewrite the function being transformed to "
            "explicitly accept the mutated Tensor(s) as inputs.",
            cause=cell,
            label=f"{cell.writer} writes a tensor that is not an argument",
            code="RG608",
        )


def captured_by(func: Callable[..., object]) -> list[Capture]:
    """The tensors that a function can reach by names: in its closure, in lists, in modules."""
    found: dict[int, Tensor] = {}
    _collect(func, _DEPTH, found)
    return [Capture(x) for x in found.values() if not x.is_inference()]


def _collect(value: object, depth: int, found: dict[int, Tensor]) -> None:
    """Put the tensors that a value leads to into a dictionary, by their ids."""
    if isinstance(value, Tensor):
        found[id(value)] = value
    elif depth:
        for part in _parts(value):
            _collect(part, depth - 1, found)


def _parts(value: object) -> Iterable[object]:
    """What a function, container or module holds; nothing for any other object."""
    if isinstance(value, FunctionType):
        return _names(value)
    if isinstance(value, dict):
        return list(islice(value.values(), _ITEMS))
    if isinstance(value, (list, tuple)):
        return value[:_ITEMS]
    if isinstance(value, (ModuleType, type)):
        return ()
    from retrograd.nn.module import Module

    if isinstance(value, Module):
        return _of_module(value)
    if isinstance(value, MethodType):
        return (value.__self__, value.__func__)
    if isinstance(value, functools.partial):
        return (value.func, *value.args, *value.keywords.values())
    return ()


def _of_module(module: Module) -> list[Tensor | None]:
    """The parameters and buffers of a module and of those below it; None where one is not set."""
    found: list[Tensor | None] = []
    parts, seen = [module], {module}
    for part in parts:  # it grows meanwhile
        found += part._parameters.values()
        found += part._buffers.values()
        for inner in part._modules.values():
            if inner is not None and inner not in seen:
                seen.add(inner)
                parts.append(inner)
    return found


def _names(func: FunctionType) -> list[object]:
    """The values of a function's closure, and of the global names that it uses."""
    found: list[object] = []
    if not func.__globals__.get("__name__", "").startswith("retrograd."):
        found = [func.__globals__.get(name) for name in func.__code__.co_names]
    for cell in func.__closure__ or ():
        try:
            found.append(cell.cell_contents)
        except ValueError:  # the name has no value yet
            continue
    return found
