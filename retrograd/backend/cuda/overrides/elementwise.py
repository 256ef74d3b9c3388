"""Elementwise ops and their derivative rules: one launch each, by a kernel that is written from the
op's own declaration.

A kernel is made for an op, the types of its operands and the way they lie in memory; a call finds
it by these in one dictionary. What cannot be traced runs as the neutral kernel does. Half precision
is read as float32 and rounded once, at the end: of a rule too, however many ops it is made of.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from retrograd.backend.arrays import DType
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.layouts import Way, way_over
from retrograd.backend.cuda.overrides.kinds import WIDE, half_among, own_first, rounded, widened
from retrograd.backend.cuda.tracing import traced
from retrograd.backend.cuda.written import HALVES, beginning, c_type, kernel_text
from retrograd.backend.device import ELEMENTWISE, KERNELS, Backend, Kernel
from retrograd.backend.expressions import (
    TABLE,
    Expression,
    GivesOperand,
    Operand,
    Untraceable,
)

_F32 = np.dtype(np.float32)
# Numbers for which a kernel may have a way of its own are part of what is compiled
_OWN_WAYS = {0, 1, 2, -1}
_MOST_NUMBERS = 32  # kernels of one op that differ in a number only
_MOST_PLANS = 1 << 14  # of one op: then all are forgotten
_AS_IT_IS: Final = "as it is"  # in place of a plan: an operand is the result


class Plan:
    """What a call does, for operands of certain types that lie in certain ways."""

    __slots__ = ("blocks", "dtypes", "function", "numbers", "turned", "way")

    def __init__(self, way: Way, function: Any, dtypes: list[DType]) -> None:
        self.way = way
        self.function = function
        self.dtypes = dtypes
        groups = -(-way.all // way.layout.width)
        self.blocks = launch.blocks_for(groups)
        self.numbers = (way.all, *way.numbers)
        self.turned = None if way.axes is None else [way.shape[axis] for axis in way.axes]


class Elementwise:
    """An elementwise op on the device: called as its neutral kernel is.

    rule  a derivative rule in its place: called as rules are, on a table of ops
    """

    def __init__(self, name: str, backend: Backend, rule: Kernel | None = None) -> None:
        self.name = name
        self.rule = rule
        self.neutral: Kernel = KERNELS[name][0] if rule is None else rule
        # whether the op rounds between its steps
        self.steps = rule is None and ELEMENTWISE[name] != "compute"
        self.array = backend.array
        self.plans: dict[Any, Plan | str | None] = {}
        self.baked: set[Any] = set()  # types of calls whose numbers are part of the kernel
        self.written: dict[Any, Any] = {}  # compiled functions, by types and layout
        self.distinct = 0
        self.quick: Any = None

    def __call__(self, xp: Any, *operands: Any, **options: Any) -> Any:
        values = (*operands, *options.values()) if options else operands
        key: list[Any] = []
        pointers: list[Any] = []
        numbers: list[Any] = []
        bits = 0
        array = self.array
        for value in values:
            kind = type(value)
            if kind is array:
                pointer = value.data.ptr
                bits |= pointer
                pointers.append(pointer)
                key += (value.shape, value.strides, value.dtype)
            elif kind is float or kind is int:
                key.append(kind)
                (numbers if _is_number(value) else key).append(value)
            elif isinstance(value, np.generic):
                key.append(kind)  # the neutral kernel takes these
            else:
                key += (kind, value)
        key.append(bits & 15)
        place = tuple(key)
        try:
            if place in self.baked:
                place, numbers = (*place, *map(repr, numbers)), []
            plan = self.plans[place]
        except KeyError:
            plan, numbers = self._planned(operands, options, place, numbers, bits & 15)
        except TypeError:  # an option that cannot be part of a key
            plan = None
        if type(plan) is not Plan:
            return self._by_neutral(xp, operands, options, plan is not None)
        way = plan.way
        shape = way.shape if plan.turned is None else plan.turned
        results: list[Any] = [array(shape, dtype) for dtype in plan.dtypes]
        if way.all:
            made = [result.data.ptr for result in results]
            launch.launch(plan.function, plan.blocks, (*pointers, *made, *numbers, *plan.numbers))
        if way.axes is not None:
            back = np.argsort(way.axes).tolist()
            results = [result.transpose(back) for result in results]
        return results[0] if len(results) == 1 else tuple(results)

    def _by_neutral(
        self, xp: Any, operands: Sequence[Any], options: Mapping[str, Any], as_it_is: bool
    ) -> Any:
        """What no kernel is written for: half precision is widened for it and rounded after."""
        found, half = half_among([*operands, *options.values()])
        if not found or self.steps or as_it_is:
            return self.neutral(xp, *operands, **options)
        wide = {name: widened(value) for name, value in options.items()}
        return rounded(self.neutral(xp, *[widened(value) for value in operands], **wide), half)

    # ------------------------------------------------------------------------------------ planning

    def _planned(
        self,
        operands: Sequence[Any],
        options: Mapping[str, Any],
        place: Any,
        numbers: list[Any],
        alignment: int,
    ) -> tuple[Plan | str | None, list[Any]]:
        """The plan for a call of a new kind, and the numbers that a launch is given."""
        if len(self.plans) > _MOST_PLANS:
            self.plans.clear()
        plan: Plan | str | None = None
        try:
            plan = self._made(operands, options, bool(numbers), alignment)
        except GivesOperand:
            plan = _AS_IT_IS
        except Untraceable:
            if numbers:
                self.baked.add(place)
                place, numbers = (*place, *map(repr, numbers)), []
                return self._planned(operands, options, place, numbers, alignment)
        self.plans[place] = plan
        return plan, numbers

    def _made(
        self, operands: Sequence[Any], options: Mapping[str, Any], given: bool, alignment: int
    ) -> Plan | None:
        values = [*operands, *options.values()]
        arrays = [value for value in values if type(value) is self.array]
        if not arrays or any([isinstance(value, np.generic) for value in values]):
            return None
        dtypes = [array.dtype for array in arrays]
        as_given = [given and _is_number(value) for value in values]
        if not given and any([_is_number(value) for value in values]):
            if self.distinct >= _MOST_NUMBERS:
                return None
            self.distinct += 1
        expression, kept = self._expression(operands, options, as_given, dtypes)
        sizes = [dtype.itemsize for dtype in dtypes]
        widest = max([*sizes, *[dtype.itemsize for dtype in kept]])
        shapes = [array.shape for array in arrays]
        way = way_over(shapes, [array.strides for array in arrays], sizes, widest, alignment)
        if way is None:
            return None
        kinds = ["double" if isinstance(v, float) else "long long"
                 for v, is_given in zip(values, as_given, strict=True) if is_given]  # fmt: skip
        source = beginning() + kernel_text(
            "kernel",
            expression,
            kinds,
            [c_type(dtype) for dtype in dtypes],
            [c_type(dtype) for dtype in kept],
            way.layout,
        )
        function = launch.function_of(source, "kernel") if way.all else None
        return Plan(way, function, kept)

    def plan_of(self, values: tuple[Any, ...], names: tuple[str, ...] | None) -> Any:
        """What the compiled launcher does for calls like this one; None where it cannot."""
        assert self.quick is not None
        if len(self.quick.plans) > _MOST_PLANS:
            self.quick.plans.clear()
        count = len(values) - len(names or ())
        options = dict(zip(names or (), values[count:], strict=True))
        alignment = 0
        for value in values:
            if type(value) is self.array:
                memory: Any = value.data
                alignment |= memory.ptr & 15
        given = any([_is_number(value) for value in values])
        try:
            plan = self._made(values[:count], options, given, alignment)
        except Untraceable:
            return None
        if plan is None:
            return None
        back = None if plan.way.axes is None else tuple(np.argsort(plan.way.axes).tolist())
        return (
            getattr(plan.function, "address", 0),
            plan.blocks if plan.way.all else 0,
            launch.THREADS,
            plan.way.shape if plan.turned is None else tuple(plan.turned),
            tuple(plan.dtypes),
            struct.pack(f"{len(plan.numbers)}q", *plan.numbers),
            back,
        )

    def _expression(
        self,
        operands: Sequence[Any],
        options: Mapping[str, Any],
        given: Sequence[bool],
        dtypes: Sequence[DType],
    ) -> tuple[Expression, list[DType]]:
        """What is computed, and the types of the results.

        Operands of half precision are read as float32, and results rounded once at the end, but
        where the op rounds between its steps.
        """
        half = next((dtype for dtype in dtypes if dtype.name in HALVES), None)

        mixed = any([dtype == _F32 for dtype in dtypes])

        def seen(value: Any) -> Any:
            if type(value) is not self.array:
                return value
            wide = value.dtype.name in HALVES and (mixed or not self.steps)
            return Operand(_F32 if wide else value.dtype)

        expression = traced(
            self.name,
            [seen(value) for value in operands],
            {key: seen(value) for key, value in options.items()},
            given,
            self.rule,
        )
        if expression.writes:
            raise Untraceable(f"{self.name} writes into an operand")
        if any([value.primitive == "input" for value in expression.results]):
            raise GivesOperand(f"{self.name} gives an operand")
        kept = [
            half if half is not None and not mixed and value.dtype == _F32 else value.dtype
            for value in expression.results
        ]
        return expression, kept


def _is_number(value: Any) -> bool:
    """Whether a value is given to a launch, if the kernel does not look at it."""
    if type(value) is int:
        return value not in _OWN_WAYS and -(2**62) < value < 2**62
    # as a part of a key, -0.0 would stand for 0.0
    return type(value) is float and (value not in _OWN_WAYS or repr(value) == "-0.0")


def kernel_for(name: str, backend: Backend, rule: Kernel | None = None) -> Any:
    """An op's kernel: the compiled launcher in front of the general way, where it is in use."""
    op = Elementwise(name, backend, rule)
    if launch.Quick.module is None:
        return op
    op.quick = launch.Quick.module.Caller(op.plan_of, op, backend.array, launch.Quick.stream)
    return op.quick


def _gives_gradient(rule: Kernel) -> bool:
    """Whether a rule gives the gradient as it is, whatever it reads."""
    gradient = object()
    count = rule.__code__.co_argcount if hasattr(rule, "__code__") else 2
    try:
        return rule(None, gradient, *[object()] * (count - 2)) is gradient
    except Exception:  # it computes
        return False


def _install_choices(backend: Backend) -> None:
    """`where`, as kernels and rules call it, and the op of that name: one launch."""
    xp = backend.xp
    library = xp.where

    def chosen(m: Any, condition: Any, yes: Any, no: Any) -> Any:
        return m.where(condition, yes, no) if m is TABLE else library(condition, yes, no)

    own = kernel_for("where", backend, chosen)

    def where(condition: Any, *choices: Any) -> Any:
        found = own(xp, condition, *choices) if len(choices) == 2 else library(condition, *choices)
        return found

    def choose(input: Any, other: Any, condition: Any) -> Any:
        kinds = [getattr(value, "dtype", None) for value in (input, other)]
        arrays = [kind for kind in kinds if kind is not None]
        if condition.dtype.kind != "b" or not arrays or arrays[0].name not in WIDE:
            return None
        if len(arrays) == 1:  # beside a number, which does not make it wider
            number = other if kinds[1] is None else input
            return own(xp, condition, input, other) if type(number) in (int, float) else None
        return own(xp, condition, input, other) if kinds[0] == kinds[1] else None

    xp.__dict__["where"] = where
    own_first(backend, "_choose", choose, halves=True)


def install(backend: Backend) -> None:
    """Let all elementwise ops without a kernel of their own on a device be written ones."""
    _install_choices(backend)
    for name in ELEMENTWISE:
        if name not in backend.overrides:
            backend.override(name)(kernel_for(name, backend))
            backend.halves.add(name)

    def fused(name: str, rule: Kernel) -> Kernel:
        if _gives_gradient(rule):
            return rule
        found: Kernel = kernel_for(f"the rule of {name}", backend, rule)
        return found

    backend.fused = fused
