"""How an op runs on a batch: the table of batching rules, and the loop that stands in for one.

A rule gets a `BatchedCall` and returns the op's results as a list of tensors whose first dimension
is the batch. It calls ops on the physical tensors, so whatever those are (batched by an outer vmap,
part of a graph, carriers of tangents) is taken care of there:

    @batching("tril", "triu")
    def keep_triangle(call):
        return call.run(input=call.front("input"))

An op without a rule runs once for each example; that is always right, and slow.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.engine.state import STATE
from retrograd.notices import explained, runtime_error
from retrograd.ops.registry import RECORDED, Op
from retrograd.tensor import Tensor, wrap
from retrograd.transforms.batched import BatchedTensor, level_of, rewrap

Rule = Callable[["BatchedCall"], list[Tensor]]
RULES: dict[str, Rule] = {}  # by the names of ops
# the rules of all ops that declare to be such and have none themselves
ELEMENTWISE, IMAGES = "elementwise ops", "ops of images"


def batching(*names: str) -> Callable[[Rule], Rule]:
    """Register the rule of one or several ops."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in RULES:
                raise TypeError(f"op {name} has two batching rules")
            RULES[name] = rule
        return rule

    return register


def rule_for(op: Op) -> Rule:
    """The rule of an op, or the loop."""
    found = RULES.get(op.name)
    if found is not None:
        return found
    if op.elementwise:
        return RULES[ELEMENTWISE]
    return loop if op.images is None else RULES[IMAGES]


class BatchedCall:
    """One call of an op with arguments of which at least one is batched at `level`."""

    __slots__ = ("args", "level", "op", "places", "size")

    def __init__(self, op: Op, args: tuple[object, ...], level: int, size: int) -> None:
        self.op = op
        self.args = args
        self.level = level
        self.size = size  # of the batch
        self.places = op.plan.places

    def __getitem__(self, name: str) -> Any:
        """An argument by its parameter's name: logical tensor, list, number or option."""
        return self.args[self.places[name]]

    def is_batched(self, name: str) -> bool:
        """Whether an argument is a tensor with the batch in it."""
        value = self[name]
        return isinstance(value, Tensor) and value._level == self.level

    def rank(self, name: str) -> int:
        """The number of dimensions that an example has."""
        value = self[name]
        return value._array.ndim if isinstance(value, Tensor) else 0

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape that an example has."""
        return tuple(self[name]._array.shape)

    def front(self, name: str) -> Any:
        """The physical tensor with the batch as its first dimension; other values as they are."""
        return to_front(self[name], self.level)

    def expanded(self, name: str) -> Any:
        """As `front`, but a tensor without the batch gets it; None stays None."""
        return self.with_batch(self[name])

    def with_batch(self, value: object) -> Any:
        """A value with the batch as first dimension, expanded if it had none."""
        if not isinstance(value, Tensor):
            return value
        if value._level == self.level:
            return to_front(value, self.level)
        return RECORDED.expand(value, (self.size, *value._array.shape))

    def check(self) -> None:
        """The op's own check of its arguments, on the facts of one example."""
        if self.op.check is None:
            return
        positional: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter, value in zip(self.op.plan.parameters, self.args, strict=True):
            fact = value._array if isinstance(value, Tensor) else value
            if parameter.keyword_only:
                keywords[parameter.name] = fact
            else:
                positional.append(fact)
        self.op.check(*positional, **keywords)

    def failure(self, error: Exception) -> Exception:
        """What to raise for an error of the rule: it should speak of one example's shapes."""
        if "vmap" in str(error).split("\n")[0]:
            return error
        try:
            call_op(self.op, [_stand_in(value, self.level) for value in self.args])
        except Exception as found:
            return found
        return error

    def run(self, **changed: object) -> list[Tensor]:
        """Call the op with some arguments replaced; its results as a list."""
        values = list(self.args)
        for name, value in changed.items():
            values[self.places[name]] = value
        return call_op(self.op, values)


def to_front(value: object, level: int) -> Any:
    """The physical tensor of a value of this level, batch first; any other value as it is."""
    if not isinstance(value, Tensor) or value._level != level:
        return value
    assert isinstance(value, BatchedTensor)
    physical, dim = value._physical, value._batch_dim
    if dim == 0:
        return physical
    rank = physical._array.ndim
    return RECORDED.permute(physical, (dim, *[d for d in range(rank) if d != dim]))


def view_batch(
    view: Callable[[Tensor, dtypes.dtype], Tensor], batch: Tensor, dtype: dtypes.dtype
) -> Tensor:
    """A view of all of a batch as another dtype."""
    made: Tensor = rewrap(view(to_front(batch, batch._level), dtype), 0, batch._level)
    return made


def call_op(op: Op, values: list[Any]) -> list[Tensor]:
    """Call an op's function on the full list of its arguments."""
    plan = op.plan
    if plan.keywords:
        keywords = {p.name: values[p.place] for p in plan.keywords}
        result = op.function(*values[: plan.positional], **keywords)
    else:
        result = op.function(*values)
    return [result] if isinstance(result, Tensor) else list(result)


# ----------------------------------------------------------------------------------- the loop


def loop(
    call: BatchedCall, run: Callable[[list[object]], list[Tensor]] | None = None
) -> list[Tensor]:
    """Run the op (or `run`, on its arguments) once for each example and stack the results."""
    if call.op.view is not None:
        raise RuntimeError(f"{call.op.label}: no batching rule for an op that gives views")
    count = call.size
    level = call.level
    batches = [_examples(value, level, count) for value in call.args]
    if not count:
        return _of_no_examples(call)
    if run is None:
        run = functools.partial(call_op, call.op)
    rows = [run([batch[i] for batch in batches]) for i in range(count)]
    return [stack_examples([row[k] for row in rows]) for k in range(len(rows[0]))]


def stack_examples(parts: list[Tensor]) -> Tensor:
    """The results of all examples as one tensor, batch first."""
    shapes = {part._array.shape for part in parts}
    if len(shapes) > 1:
        raise runtime_error(
            "vmap: the examples of a batch gave results of different shapes: "
            + ", ".join(sorted(str(list(shape)) for shape in shapes)),
            code="RG601",
        )
    return RECORDED.stack(parts, 0)


def _examples(value: object, level: int, count: int) -> list[Any]:
    """An argument for each example."""
    if isinstance(value, Tensor):
        if value._level != level:
            return [value] * count
        front = to_front(value, level)
        return [RECORDED.select(front, 0, i) for i in range(count)]
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        columns = [_examples(item, level, count) for item in value]
        return [[column[i] for column in columns] for i in range(count)]
    return [value] * count


def _of_no_examples(call: BatchedCall) -> list[Tensor]:
    """The results for an empty batch: what one example of ones would give, none of it."""
    values = [_stand_in(value, call.level) for value in call.args]
    results = call_op(call.op, values)
    return [wrap(np.empty((0, *result._array.shape), result._array.dtype)) for result in results]


def _stand_in(value: object, level: int) -> Any:
    if isinstance(value, Tensor):
        if value._level != level:
            return value.detach()
        array = value._array
        return wrap(np.ones(array.shape, array.dtype))
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return [_stand_in(item, level) for item in value]
    return value


def run_by_example(
    function: Callable[..., object],
    level: int,
    args: tuple[object, ...],
    options: dict[str, object],
) -> Any:
    """A function of tensors that has no batching rule: once for each example, results stacked."""

    from retrograd.transforms.trees import flatten, unflatten

    leaves, spec = flatten((args, options))
    for leaf in leaves:
        if isinstance(leaf, Tensor) and leaf._level == level and STATE.grad_enabled:
            if leaf._requires_grad:
                raise explained(
                    NotImplementedError(
                        f"{function.__name__} of a batch cannot be differentiated inside of vmap: "
                        "take the gradient outside"
                    ),
                    code="RG610",
                )
    count = level_of(level).size
    if not count:
        raise runtime_error(
            f"{function.__name__}: vmap over a batch of size 0 is not supported", code="RG604"
        )
    batches = [_examples(leaf, level, count) for leaf in leaves]
    rows = []
    for i in range(count):
        given, named = unflatten([batch[i] for batch in batches], spec)
        found, result_spec = flatten(function(*given, **named))
        rows.append(found)
    results = [
        rewrap(stack_examples(list(column)), 0, level)
        if isinstance(column[0], Tensor)
        else column[0]
        for column in zip(*rows, strict=True)
    ]
    return unflatten(results, result_spec)
