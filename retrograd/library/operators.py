"""Operators that a program registers by name: what `torch.library` makes, and how it is called.

An operator runs as any function does. Its name makes it an attribute of ``torch.ops``, its kernel
computes without a graph, and its gradient is the one that was registered for it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

from retrograd.autograd.function import Function
from retrograd.autograd.graph import increment_version
from retrograd.backend import backend_of
from retrograd.engine.grad_mode import no_grad
from retrograd.library.schema import Schema
from retrograd.ops import _refused_libraries
from retrograd.ops.calling.overloads import OpOverload, OpOverloadPacket, declare
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

OPERATORS: dict[str, Operator] = {}
"""Every registered operator, by its name: ``mylib::crop``."""

_EVERYWHERE = ("cpu", "default", "compositeexplicitautograd", "compositeimplicitautograd")


class Operator:
    """A registered operator: its schema, its kernel and its rules."""

    def __init__(self, schema: Schema, recorded: bool) -> None:
        self.schema = schema
        # An operator without a gradient of its own: its kernel's ops are recorded, or nothing is.
        self.recorded = recorded
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.vmap: Callable[..., Any] | None = None
        self.fake: Callable[..., Any] | None = None
        space, _, name = schema.name.partition("::")
        name, _, overload = name.partition(".")
        self.packet = declare(space, name, overload or "default", self)
        self.overload: OpOverload = getattr(self.packet, overload or "default")
        self.overload._schema = schema
        self.function: Any = _function_of(self)
        OPERATORS[schema.name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        values = self.schema.bind(args, kwargs)
        if self.schema.writes:
            return self._write(values)
        if self.recorded and self.backward is None:
            return self._run(values)
        layout = _Layout(values)
        return layout.result(self.function.apply(layout, *_flat(values)))

    def register_autograd(
        self, shown: Any, backward: Callable[..., Any], setup_context: Callable[..., Any] | None
    ) -> None:
        """Set the gradient; `shown` names the operator in an error."""
        if self.schema.writes:
            raise RuntimeError(
                f"Cannot register autograd formula for non-functional operator {shown} with schema "
                f"{self.schema}. Please create a functional operator and register an autograd "
                "formula for that."
            )
        self.backward, self.setup_context = backward, setup_context

    def _run(self, values: list[object]) -> Any:
        for place in _EVERYWHERE:
            if place in self.kernels:
                positional, named = self.parted(values)
                return self.kernels[place](*positional, **named)
        raise NotImplementedError(
            f"Could not run '{self.schema.name}' with arguments from the 'CPU' backend. "
            "No kernel was registered for it: torch.library.impl registers one"
        )

    def parted(self, values: list[object]) -> tuple[list[object], dict[str, object]]:
        """The values by position, and those by keyword."""
        pairs = list(zip(self.schema.arguments, values, strict=True))
        positional = [value for argument, value in pairs if not argument.keyword_only]
        return positional, {a.name: value for a, value in pairs if a.keyword_only}

    def _write(self, values: list[Any]) -> Any:
        with no_grad():
            result = self._run(values)
        for argument, value in zip(self.schema.arguments, values, strict=True):
            if argument.written and value is not None:
                increment_version(value)
        return result

    def checked_run(self, values: list[object]) -> Any:
        """The kernel's result, which may not be one of its inputs nor share memory with one."""
        with no_grad():
            result = self._run(values)
        inputs = [value for value in _flat(values) if isinstance(value, Tensor)]
        for out in _flat([result]):
            if isinstance(out, Tensor) and any(
                out is given or _share_memory(out._array, given._array) for given in inputs
            ):
                kernel = next(iter(self.kernels.values()))
                raise RuntimeError(
                    f"{self.packet.__name__} (with implementation in {inspect.getmodule(kernel)}): "
                    "The output of this custom operator (1) must not also be an input to this "
                    "custom operator and (2) may not alias any inputs to this custom operator or "
                    "other returns. The most common way to trigger this error is if we have "
                    "y = custom_op(x) and y and x are the same Tensor. Please instead return a "
                    "clone of the offending output tensor(s) (e.g. return x.clone()) or refactor "
                    "the custom operator to not return y."
                )
        return result


class CompiledOperator(Operator):
    """An operator that no library declared after one was refused: most likely one of that library.

    Rules that a package registers for it are kept. A call refuses.
    """

    def __init__(self, name: str) -> None:
        super().__init__(Schema(name, "() -> ()"), recorded=True)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self.schema.name} is not supported by retrograd: it is compiled for PyTorch "
            f"(refused: {', '.join(_refused_libraries)})"
        )


def find(op: Any) -> Operator:
    """The operator of a name, of an object of ``torch.ops``, or of a decorated function."""
    if isinstance(op, OpOverload):
        op = op.name()
    elif isinstance(op, OpOverloadPacket):
        op = op._qualified_op_name
    if not isinstance(op, str):
        return op._operator  # type: ignore[no-any-return]
    name = op.removesuffix(".default")
    if name not in OPERATORS:
        if not _refused_libraries:
            raise RuntimeError(f"operator {op} does not exist")
        return CompiledOperator(name)
    return OPERATORS[name]


# ----------------------------------------------------------------------------------- the graph


class _Layout:
    """Which arguments and results of one call are lists: a Function's are never lists."""

    __slots__ = ("arguments", "listed", "results")

    def __init__(self, values: list[object]) -> None:
        self.arguments = _lengths(values)
        self.results: list[int | None] | None = None  # None: one result
        self.listed = False

    def note(self, result: Any) -> Any:
        """Note how a kernel's result is made; the result without lists."""
        if result is None or isinstance(result, Tensor):
            return result
        self.results, self.listed = _lengths(result), isinstance(result, list)
        return tuple(_flat(result))

    def result(self, output: Any) -> Any:
        """A result as the kernel makes it, from a Function's."""
        if self.results is None:
            return output
        folded = _folded(output, self.results)
        return folded if self.listed else tuple(folded)


def _lengths(values: Iterable[object]) -> list[int | None]:
    return [len(value) if isinstance(value, (list, tuple)) else None for value in values]


def _flat(values: Iterable[object]) -> list[object]:
    """The values, with those of lists and tuples in their places."""
    flat: list[object] = []
    for value in values:
        flat.extend(value if isinstance(value, (list, tuple)) else [value])
    return flat


def _folded(flat: Any, lengths: list[int | None]) -> list[object]:
    """The values of `_flat` again in lists of these lengths."""
    left = iter(flat)
    return [
        next(left) if length is None else [next(left) for _ in range(length)] for length in lengths
    ]


def _function_of(operator: Operator) -> type[Function]:
    """The Function of an operator. Its first argument is the layout of the others."""

    def forward(layout: _Layout, *flat: object) -> Any:
        return layout.note(operator.checked_run(_folded(flat, layout.arguments)))

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx._layout = layout = inputs[0]
        if operator.setup_context is not None:
            positional, named = operator.parted(_folded(inputs[1:], layout.arguments))
            options = {"keyword_only_inputs": named} if named else {}
            operator.setup_context(
                ctx, inputs=tuple(positional), output=layout.result(output), **options
            )

    def backward(ctx: Any, *grads: Any) -> Any:
        if operator.backward is None:
            raise RuntimeError(
                f"Trying to backward through {operator.overload} but no autograd formula was "
                "registered. Please use register_autograd to add one."
            )
        layout: _Layout = ctx._layout
        folded = layout.result(grads)
        needed = ctx.needs_input_grad
        try:
            ctx.needs_input_grad = tuple(operator.parted(_folded(needed[1:], layout.arguments))[0])
            found = operator.backward(ctx, *([folded] if layout.listed else folded))
        finally:
            ctx.needs_input_grad = needed
        given = list(found) if isinstance(found, tuple) else [found]
        # Arguments by keyword are no inputs of the formula, and have no gradient.
        given += [None] * (len(layout.arguments) - len(given))
        flat: list[object] = [None]
        for gradient, length in zip(given, layout.arguments, strict=True):
            if length is None:
                flat.append(gradient)
            else:
                flat.extend([None] * length if gradient is None else gradient)
        return tuple(flat)

    def vmap(info: Any, in_dims: Any, layout: _Layout, *flat: object) -> Any:
        values = _folded(flat, layout.arguments)
        dims = _folded(in_dims[1:], layout.arguments)
        if operator.vmap is None:
            return _one_by_one(operator, info.batch_size, layout, dims, values)
        return operator.vmap(info, tuple(dims), *operator.schema.without_defaults(values))

    parts = (forward, setup_context, backward, vmap)
    members = {part.__name__: staticmethod(part) for part in parts}
    name = str(operator.overload).replace(".", "_")
    return type(f"GeneratedBackwardFor_{name}", (Function,), members)


def _share_memory(first: Any, second: Any) -> bool:
    """Whether two arrays, which may be of different devices, can share memory."""
    if type(first) is not type(second):
        return False
    return bool(backend_of(first).xp.shares_memory(first, second))


def _one_by_one(
    operator: Operator, size: int, layout: _Layout, dims: list[object], values: list[object]
) -> Any:
    """The rule of an operator without one: call it for each element of the batch."""

    def part(value: Any, dim: Any, index: int) -> Any:
        if isinstance(value, (list, tuple)):
            return [part(one, one_dim, index) for one, one_dim in zip(value, dim, strict=True)]
        return value if dim is None else value.select(dim, index)

    results = []
    for index in range(size):
        one = [part(value, dim, index) for value, dim in zip(values, dims, strict=True)]
        positional, named = operator.parted(one)
        results.append(layout.note(operator(*positional, **named)))
    if isinstance(results[0], Tensor):
        return RECORDED.stack(results), 0
    stacked = tuple(RECORDED.stack(list(column)) for column in zip(*results, strict=True))
    return stacked, (0,) * len(stacked)
