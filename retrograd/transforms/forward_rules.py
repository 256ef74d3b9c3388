"""The derivative of one op in one direction, from what its declaration says.

In this order: a function given as ``forward=``; one of the named ways ("linear", "elementwise" and
so on), where the derivative is made of the op itself or of its rules as they stand; and for all
others the transpose of the rules. A rule is linear in the gradient g that it is given, and what it
computes is the transpose of the derivative: so it runs on some g, and the gradient of *its* result
with respect to g, started from the tangents, is the tangent of the op's result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import backend_of, can_write, xp_of
from retrograd.backend.arrays import DType
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.engine.sparse_array import as_array
from retrograd.engine.state import STATE, Modes
from retrograd.ops.calling.dispatch import dispatch
from retrograd.ops.calling.dispatch_inplace import may_be_recorded
from retrograd.ops.calling.plan import CallPlan, Rule, Source
from retrograd.ops.calling.recording import array_fact
from retrograd.ops.registry import RECORDED, Op, names_of
from retrograd.tensor import Tensor, wrap
from retrograd.transforms.batched import LogicalArray
from retrograd.transforms.forward import (
    NOBODY,
    TRACE,
    DualLevel,
    is_recorded,
    tangents_of,
    without_level,
)


@above
def grad(outputs: object, inputs: object, grad_outputs: object = None, **options: object) -> Any:
    """`torch.autograd.grad`."""
    raise NotImplementedError


class OpCall:
    """One call of an op, some of whose operands move: `tangents` says where to, operand by operand.

    `write` says that the call is in place: its first operand is about to change.
    """

    def __init__(
        self,
        op: Op,
        args: tuple[Any, ...],
        tensors: list[Any],
        outputs: list[Tensor],
        tangents: list[Tensor | None],
        level: DualLevel,
        write: bool,
    ) -> None:
        self.op = op
        self.args = args
        self.plan: CallPlan = op.plan
        self.tangents = tangents
        self.recording = STATE.grad_enabled and any(
            [isinstance(x, Tensor) and may_be_recorded(x) for x in (*tensors, *tangents)]
        )
        # the graph of the tangent must not save what the op is about to overwrite
        copied = None
        if write and STATE.grad_enabled and any([is_recorded(x) for x in (*tensors, *tangents)]):
            copied = tensors[0]
        if copied is not None and tangents[0] is not None:
            self.tangents = [RECORDED.clone(tangents[0]), *tangents[1:]]
        self.tensors = [
            without_level(x, level, copy=x is copied) if isinstance(x, Tensor) else x
            for x in tensors
        ]
        self.outputs = [without_level(x, level) for x in outputs]
        self.carries = [
            number not in op.nondifferentiable and x._array.dtype in dtypes.DIFFERENTIABLE
            for number, x in enumerate(outputs)
        ]
        values = [x for x in (*self.tensors, *self.outputs) if isinstance(x, Tensor)]
        self.is_complex = any([x._array.dtype.kind == "c" for x in values])
        # tangents in the types of their operands, the usual case
        self.matching = all(
            [
                t is None or t._array.dtype is x._array.dtype
                for t, x in zip(tangents, self.tensors, strict=True)
            ]
        )
        self.level = level

    def run(self) -> list[Tensor | None]:
        """The tangent of each output; None for outputs without derivatives."""
        if True not in self.carries:
            return [None] * len(self.outputs)
        moving = self._moving()
        if all([tangent is None for tangent in moving]):
            return [None] * len(self.outputs)
        forward = self.op.forward
        if callable(forward):
            found: Sequence[Tensor | None] = self._given(forward, moving)
        elif forward == "linear":
            found = self._linear()
        elif forward == "multilinear":
            found = self._multilinear()
        elif forward == "reduction":
            found = [None if moving[0] is None else self._reduction(moving[0])]
        elif forward == "elementwise" and (self.op.holomorphic or not self.is_complex):
            found = self._elementwise(moving)
        else:
            found = self._transposed(moving)
        return [
            self._fitted(output, tangent) if carries else None
            for output, tangent, carries in zip(self.outputs, found, self.carries, strict=True)
        ]

    # ---------------------------------------------------------------------- arguments

    def _moving(self) -> list[Tensor | None]:
        """The tangents of the operands that have a derivative, in the order of the rules."""
        return self.plan.sources_of_edges(self.tangents)

    def _value(self, source: Source, raw: bool = False) -> Any:
        """What a rule reads."""
        kind, index = source
        if kind == "output":
            value: Any = self.outputs[index]
        elif kind == "input":
            value = self.tensors[index]
        elif kind == "option":
            return self.args[index]
        else:
            return array_fact(self.plan, kind, index, self.tensors, self.outputs)
        return value._array if raw and isinstance(value, Tensor) else value

    def _values(self, rule: Rule, raw: bool = False) -> list[Any]:
        saves = self.plan.saves
        return [
            self._value(Source(saves[position].kind, saves[position].source), raw)
            for position in rule.reads
        ]

    def _call(self, operands: list[Any]) -> list[Tensor]:
        """The op itself on other operands."""
        args = list(self.args)
        rest = list(operands)
        for p in self.plan.tensors:
            if p.is_list:
                count = len(args[p.place])
                args[p.place], rest = rest[:count], rest[count:]
            else:
                args[p.place] = rest.pop(0)
        results = dispatch(self.op, tuple(args))
        return [results] if self.op.outputs == 1 else list(results)

    # ------------------------------------------------------------------------ the ways

    def _given(
        self, forward: Callable[..., Any], moving: list[Tensor | None]
    ) -> list[Tensor | None]:
        read = [self._value(self.plan.source(name)) for name in names_of(forward)[2:]]
        results = forward(RECORDED, moving, *read)
        return [results] if self.op.outputs == 1 else list(results)

    def _linear(self) -> Sequence[Tensor | None]:
        operands: list[Any] = []
        for operand, tangent, moves in self._operands():
            if not moves:
                operands.append(operand)
            elif tangent is not None:
                operands.append(tangent)
            else:
                operands.append(RECORDED.zeros_like(operand) if isinstance(operand, Tensor) else 0)
        return self._call(operands)

    def _multilinear(self) -> Sequence[Tensor | None]:
        total: list[Tensor] = []
        places = [
            place for place, (_, tangent, _) in enumerate(self._operands()) if tangent is not None
        ]
        for place in places:
            operands = list(self.tensors)
            operands[place] = self.tangents[place]
            parts = self._call(operands)
            total = [a + b for a, b in zip(total, parts, strict=True)] if total else parts
        return total

    def _operands(self) -> list[tuple[Any, Tensor | None, bool]]:
        """Operand, tangent and whether the op has a derivative there, for each operand."""
        edges = self.plan.edges
        places = range(len(self.tensors)) if edges is None else edges
        return [
            (operand, self.tangents[place] if place in places else None, place in places)
            for place, operand in enumerate(self.tensors)
        ]

    def _elementwise(self, moving: list[Tensor | None]) -> list[Tensor | None]:
        raw = self._can_be_raw(moving)
        shape = self.outputs[0]._array.shape
        total: Tensor | None = None
        token = enter_quiet(QUIET) if raw else None
        try:
            for rule, tangent in zip(self.plan.rules, moving, strict=True):
                if tangent is None:
                    continue
                if tangent._array.shape != shape:
                    tangent = tangent.expand(shape)
                if raw:
                    raw_table = backend_of(tangent._array).raw
                    values = self._values(rule, raw=True)
                    part = rule.function(raw_table, tangent._array, *values)
                else:
                    part = rule.function(RECORDED, tangent, *self._values(rule))
                if part is not None:
                    total = part if total is None else total + part
        finally:
            if token is not None:
                leave_quiet(token)
        return [wrap(as_array(total)) if raw and total is not None else total]

    def _reduction(self, tangent: Tensor) -> Tensor | None:
        """The sum of the tangents, each times its element's weight in the result."""
        rule = self.plan.rules[0]
        weights = rule.function(RECORDED, RECORDED.ones_like(self.outputs[0]), *self._values(rule))
        if weights is None:
            return None
        if self.is_complex and not self.op.holomorphic:  # a real result of complex numbers
            weights = RECORDED.conj(weights)
        parts = _in_type(RECORDED.mul(weights, tangent), self.outputs[0]._array.dtype)
        places = self.plan.places
        dim = self.args[places["dim"]] if "dim" in places else None
        if dim is None or dim == () or not parts._array.ndim:
            return RECORDED.reshape(RECORDED._sum_all(parts), self.outputs[0]._array.shape)
        return RECORDED.sum(parts, dim, self.args[places["keepdim"]])

    def _can_be_raw(self, moving: list[Tensor | None]) -> bool:
        """Whether the rules may run on arrays: no graph to record, no other level to inform."""
        if self.recording or not self.matching:
            return False
        for x in (*self.tensors, *moving):
            if isinstance(x, Tensor):
                array = x._array
                if x._level or array.dtype in dtypes.HALF_TYPES or tangents_of(x):
                    return False
        return True

    def _transposed(self, moving: list[Tensor | None]) -> list[Tensor | None]:
        op = self.op
        carried = zip(self.outputs, self.carries, strict=True)
        # the graph made here is walked once, below: nobody else sees it
        with Modes(grad_enabled=True, cut=None, saved_hooks=()):
            starts = [self._start(x) if c else None for x, c in carried]
            parts = self._rule_results(starts[0] if op.outputs == 1 else starts)
        pairs = [
            (part, self._as_start(tangent, part))
            for part, tangent in zip(parts, moving, strict=True)
            if part is not None and tangent is not None and part._requires_grad
        ]
        if not pairs:
            return [None] * len(self.outputs)
        wanted = [start for start in starts if start is not None]
        results = grad(
            [part for part, _ in pairs],
            wanted,
            [tangent for _, tangent in pairs],
            create_graph=self.recording,
            allow_unused=True,
        )
        conjugate = self.is_complex and op.holomorphic
        rest = iter(results)
        found = [None if start is None else next(rest) for start in starts]
        return [RECORDED.conj(x) if conjugate and x is not None else x for x in found]

    def _start(self, output: Tensor) -> Tensor:
        """Some gradient of an output; which one does not matter to a rule, being linear."""
        if output._level:
            start: Tensor = RECORDED.zeros_like(output)
        else:
            like = output._array
            start = wrap(xp_of(like).zeros(like.shape, like.dtype))
        start._requires_grad = True
        start.__dict__[TRACE] = NOBODY
        return start

    def _rule_results(self, gradient: object) -> list[Tensor | None]:
        """What the rules give for each operand that has one."""
        wanted = [tangent is not None for tangent in self._moving()]
        joint, rules = self.plan.joint, self.plan.rules
        if joint is not None:
            return list(joint.function(RECORDED, gradient, tuple(wanted), *self._values(joint)))
        if self.plan.edges is None:
            return list(rules[0].function(RECORDED, gradient, *self._values(rules[0])))
        return [
            rule.function(RECORDED, gradient, *self._values(rule)) if moves else None
            for rule, moves in zip(rules, wanted, strict=True)
        ]

    def _as_start(self, tangent: Tensor, part: Tensor) -> Tensor:
        """A tangent in the shape and type of what the rule gave for its operand."""
        if tangent._array.shape != part._array.shape:
            tangent = tangent.expand(part._array.shape)
        tangent = _in_type(tangent, part._array.dtype)
        if self.is_complex and self.op.holomorphic:
            tangent = RECORDED.conj(tangent)
        return tangent

    # ---------------------------------------------------------------------- results

    def _fitted(self, output: Tensor, tangent: Tensor | None) -> Tensor:
        """A tangent as its output needs it: in its shape and type, in memory of its own."""
        if tangent is None:
            return _zeros(output)
        if self.matching:
            tangent = _in_type(tangent, output._array.dtype)
        if self.op.view is not None:
            return tangent
        if tangent._array.shape != output._array.shape:
            tangent = tangent.expand(output._array.shape)
        return RECORDED.clone(tangent) if self._is_shared(tangent) else tangent

    def _is_shared(self, tangent: Tensor) -> bool:
        """Whether a write into a new tangent could change another one, or is impossible."""
        if tangent._view is not None or not can_write(tangent._array):
            return True
        share = backend_of(tangent._array).xp.shares_memory
        memory = _whole(tangent._array)
        for other in self.tangents:
            if other is not None and share(memory, _whole(other._array)):
                return True
        return False


def _in_type(tensor: Tensor, dtype: DType) -> Tensor:
    """A tensor in a dtype; the real part where a complex one becomes real."""
    if tensor._array.dtype is dtype:
        return tensor
    if tensor._array.dtype.kind == "c" and dtype.kind != "c":
        tensor = tensor.real
    return tensor.to(dtypes.from_numpy_dtype(dtype))


def _zeros(output: Tensor) -> Tensor:
    return RECORDED.zeros_like(output)


def _whole(array: Any) -> Any:
    """The array with all examples of a batch."""
    while type(array) is LogicalArray:
        array = array._whole
    return array
