"""The old order of arguments, numbers first: ``p.add_(-lr, grad)``, ``torch.addmm(beta, m, a, b)``.

PyTorch has warned of it since 1.5 and still takes it, and much published code has it.

>>> import warnings, retrograd as torch
>>> with warnings.catch_warnings():
...     warnings.simplefilter("ignore")
...     torch.ones(2).add_(-0.5, torch.tensor([1.0, 2.0]))
tensor([0.5000, 0.0000])
"""

from __future__ import annotations

from numbers import Number
from typing import Any

from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor


def with_more(signature: str) -> str:
    """A signature that takes more arguments by place than it names."""
    return signature.replace(", *, ", ", *_more, ", 1)


def in_old_order(
    op: Op, given: tuple[object, ...], named: tuple[object, ...], out: Tensor | None, in_place: bool
) -> Any:
    """Call an op whose arguments were given with the numbers first.

    `named` are the values of its options as the call has them: all must be the defaults.
    """
    numbers = op.old_order  # before the tensors; the last of them may be left out
    defaults = [op.plan.parameters[place].default for place in op.plan.options]
    operands = len(op.plan.tensors)
    name = op.inplace_name if in_place else op.name
    found = list(given)
    # A function has the tensor behind beta, ``addmm(beta, input, ...)``; a method has it in front.
    if len(numbers) == 2 and not in_place and not isinstance(found[0], Tensor):
        found[:2] = found[1::-1]
    count = len(found) - operands
    values, rest = found[1 : 1 + count], found[1 + count :]
    fits = (
        count <= len(numbers)
        and isinstance(found[0], Tensor)
        and all(_is_number(value) for value in values)
        and (numbers == ("alpha",) or all(isinstance(value, Tensor) for value in rest))
        and all(value is default for value, default in zip(named, defaults, strict=True))
    )
    if not fits:
        raise TypeError(
            f"{name}() takes {operands} positional arguments but {len(given)} were given"
        )
    shown = ["Tensor input", *(f"Tensor {other}" for other in op.plan.tensor_names[1:])]
    old = [f"Number {number}" for number in numbers[:count]]
    new = "".join(f", Number {number} = 1" for number in numbers)
    if in_place:
        before, after, end = [*old, *shown[1:]], shown[1:], ""
    else:
        before = [shown[0], *old, *shown[1:]]
        if len(numbers) == 2:
            before[:2] = before[1::-1]
        after, end = shown, ", Tensor out = None"
    warn_once(
        f"This overload of {name} is deprecated:\n\t{name}({', '.join(before)}"
        f"{', *' if end else ''}{end})\nConsider using one of the following signatures instead:"
        f"\n\t{name}({', '.join(after)}, *{new}{end})",
        user_level(),
    )
    options = dict(zip(numbers, values, strict=False))
    function: Any = op.inplace_function if in_place else op.function
    if out is not None:
        options["out"] = out
    return function(found[0], *rest, **options)


def _is_number(value: object) -> bool:
    return isinstance(value, Number) or (isinstance(value, Tensor) and value._array.ndim == 0)
