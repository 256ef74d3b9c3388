"""Expressions whose numbers are given at each launch, where a kernel does not look at them.

A kernel is traced with numbers that refuse to be computed with. Where it must know one, for a
branch or to work out another number, it is traced with the number itself. So a learning rate that
changes at each step needs one compiled kernel, and `alpha=1` may have a shorter way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from retrograd.backend.cuda.written import Parameter
from retrograd.backend.device import Kernel
from retrograd.backend.expressions import Expression, Untraceable, Value, trace

# Exact in every type of real numbers, and no constants of a kernel.
_REALS = (-0.3720703125, 0.8134765625, 1.6328125, -2.5859375)
_INTEGERS = (83, 101, 89, 97)


# NumPy asks for `__float__`; that what comes of it goes nowhere else, a second trace shows.
def _refuse(*_: object) -> Any:
    raise Untraceable("a kernel computes with a number")


_COMPUTING = """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__
    __rfloordiv__ __mod__ __rmod__ __pow__ __rpow__ __neg__ __pos__ __abs__ __lt__ __le__ __gt__
    __ge__ __eq__ __ne__ __bool__ __index__ __round__ __trunc__ __floor__
    __ceil__ __and__ __or__ __xor__ __rand__ __ror__ __rxor__ __invert__ is_integer
""".split()


class _Real(float):
    """A real number of which a kernel may learn nothing."""

    __hash__ = float.__hash__


class _Integer(int):
    """The same of whole numbers."""

    __hash__ = int.__hash__


for _kind in (_Real, _Integer):
    for _name in _COMPUTING:
        if hasattr(_kind, _name):
            setattr(_kind, _name, _refuse)


def traced(
    name: str,
    operands: Sequence[Any],
    keywords: Mapping[str, Any],
    given: Sequence[bool],
    rule: Kernel | None = None,
) -> Expression:
    """What a kernel computes, with a `Parameter` for each number that is marked in `given`.

    The operands come first, then the keywords, in the order of `given`.
    """
    if not any(given):
        return trace(name, operands, keywords, rule)
    found = [_traced_once(name, operands, keywords, given, turn, rule) for turn in (False, True)]
    one, other = (str(expression) for expression in found)
    if one != other:  # a number went into another one unseen
        raise Untraceable(f"{name} computes with its numbers")
    return found[0]


def _traced_once(
    name: str,
    operands: Sequence[Any],
    keywords: Mapping[str, Any],
    given: Sequence[bool],
    turn: bool,
    rule: Kernel | None,
) -> Expression:
    values = [*operands, *keywords.values()]
    parameters: dict[float, Parameter] = {}
    for place, is_given in enumerate(given):
        if not is_given:
            continue
        real = isinstance(values[place], float)
        stock = _REALS if real else _INTEGERS
        if len(parameters) >= len(stock) // 2:
            raise Untraceable(f"{name} has many numbers")
        number = stock[len(parameters) + (len(stock) // 2 if turn else 0)]
        parameters[number] = Parameter(len(parameters), "double" if real else "long long")
        values[place] = (_Real if real else _Integer)(number)
    first = values[: len(operands)]
    rest = dict(zip(keywords, values[len(operands) :], strict=True))
    expression = trace(name, first, rest, rule)
    missing = set(parameters.values())

    def replaced(operand: Any) -> Any:
        if isinstance(operand, Value) or isinstance(operand, bool):
            return operand
        plain = float.__float__(operand) if isinstance(operand, float) else operand
        plain = int.__int__(plain) if isinstance(plain, int) else plain
        parameter = parameters.get(plain)
        if parameter is None:
            return operand
        missing.discard(parameter)
        return parameter

    renewed = _renewed(expression, replaced)
    if missing:
        raise Untraceable(f"{name} uses a number in another way")
    return renewed


def _renewed(expression: Expression, replaced: Callable[[Any], Any]) -> Expression:
    """The same code with other constants."""
    found: dict[Value, Value] = {}
    for value in expression.values:
        operands = value.operands
        if value.primitive != "input":
            operands = tuple([found[o] if isinstance(o, Value) else replaced(o) for o in operands])
        found[value] = Value(value.primitive, operands, value.dtype)
    values = [found[v] for v in expression.values]
    return Expression(values, [found[v] for v in expression.results], expression.writes)
