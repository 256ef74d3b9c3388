"""Operations on lists of tensors, ``torch._foreach_add`` and its relatives: one tensor at a time.

>>> import retrograd as torch
>>> torch._foreach_mul([torch.ones(2), torch.ones(1)], [2.0, 3.0])
(tensor([2., 2.]), tensor([3.]))
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

PREFIX = "_foreach_"
_METHODS = """
abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min clone copy_ cos cosh div erf erfc
exp expm1 floor frac lerp lgamma log log10 log1p log2 max maximum minimum mm mul neg norm pow powsum
reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan tanh trunc zero_
""".split()
# new tensors only, or in place only
_ONE_WAY = frozenset(["clone", "copy_", "max", "mm", "norm", "powsum", "zero_"])
# PyTorch's methods take tensors there, its lists numbers too
_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _arguments(count: int, arguments: tuple[object, ...]) -> list[tuple[object, ...]]:
    """What each of the tensors is called with: an element of each list, and all else as it is."""
    columns = []
    for argument in arguments:
        if not isinstance(argument, (list, tuple)):
            columns.append([argument] * count)
            continue
        if len(argument) != count:
            if argument and isinstance(argument[0], Tensor):
                raise RuntimeError(
                    "Tensor lists must have the same number of tensors, got "
                    f"{count} and {len(argument)}"
                )
            raise RuntimeError("Tensor list must have same number of elements as scalar list.")
        columns.append(list(argument))
    return [tuple(column[place] for column in columns) for place in range(count)]


def _values(method: str, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """The factors of `addcmul` and `addcdiv`, which may be given as one tensor, as a list."""
    last = arguments[-1] if len(arguments) == 3 else None
    if method in ("addcmul", "addcdiv") and isinstance(last, Tensor) and last.dim():
        return (*arguments[:2], last.tolist())
    return arguments


def _one(method: str, name: str, tensor: Any, arguments: tuple[Any, ...], named: Any) -> Any:
    """The operation on one tensor."""
    if method == "norm":
        order = arguments[0] if arguments else named.get("ord", 2)
        return RECORDED.linalg_vector_norm(tensor, order, dtype=named.get("dtype"))
    if method == "powsum":
        return tensor.abs().pow(arguments[0]).sum()
    if method in ("addcmul", "addcdiv"):
        value = arguments[2] if len(arguments) == 3 else named.get("value", 1)
        return getattr(tensor, name)(*arguments[:2], value=value)
    if method in _NUMBERS and not isinstance(arguments[0], Tensor):
        name = name.replace(method, _NUMBERS[method])
    elif name in ("maximum_", "minimum_"):
        return tensor.copy_(getattr(tensor, method)(*arguments))
    elif name == "mul_" and type(arguments[0]) is float:
        if tensor._array.dtype in dtypes.HALF_TYPES:  # here alone the number is rounded first
            return tensor.mul_(tensor.new_tensor(arguments[0]))
    return getattr(tensor, name)(*arguments, **named)


def _made(name: str) -> Callable[..., object]:
    method = name if name in _METHODS else name.removesuffix("_")
    inplace = name.endswith("_")

    def apply(self: Any, *arguments: Any, **named: object) -> Any:
        if isinstance(self, (int, float, complex)):  # powers of one number
            return tuple(RECORDED.pow(self, exponent) for exponent in arguments[0])
        if not self:
            raise RuntimeError("Tensor list must have at least one tensor.")
        scalars = named.pop("scalars", None)
        if scalars is not None:
            arguments = (*arguments, scalars)
        rows = _arguments(len(self), _values(method, arguments))
        found = [_one(method, name, each, row, named) for each, row in zip(self, rows, strict=True)]
        return self if inplace else tuple(found)

    apply.__name__ = apply.__qualname__ = f"{PREFIX}{name}"
    apply.__doc__ = f"`{name}` of each tensor of a list."
    return apply


PUBLIC: dict[str, Callable[..., object]] = {}
for _name in _METHODS:
    PUBLIC[f"{PREFIX}{_name}"] = _made(_name)
    if _name not in _ONE_WAY:
        PUBLIC[f"{PREFIX}{_name}_"] = _made(f"{_name}_")
