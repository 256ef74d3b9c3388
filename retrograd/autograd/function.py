"""Custom Functions: operations whose backward the user writes.

>>> import retrograd as torch
>>> class Scale(torch.autograd.Function):
...     @staticmethod
...     def forward(ctx, x, factor):
...         ctx.factor = factor
...         return x * factor
...     @staticmethod
...     def backward(ctx, grad):
...         return grad * ctx.factor, None
>>> x = torch.ones(2, requires_grad=True)
>>> Scale.apply(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn, TypeVar

from retrograd.above import above
from retrograd.autograd.custom.context import BackwardCFunction as BackwardCFunction
from retrograd.autograd.custom.context import FunctionCtx as FunctionCtx
from retrograd.autograd.custom.outputs import Outputs, are_fresh, join_fresh
from retrograd.backend import is_array
from retrograd.engine import failures
from retrograd.engine.accumulate import with_grad_mode
from retrograd.engine.function_node import FunctionNode, delayed_error
from retrograd.engine.lineage import note_cuts
from retrograd.engine.node import Node
from retrograd.engine.recipes import remembered
from retrograd.engine.state import STATE, TRANSFORMS, Cut, set_grad_mode
from retrograd.engine.views import edge_of, refresh
from retrograd.lifecycle.site import user_level, user_site
from retrograd.marks import differs
from retrograd.notices import explained, runtime_error
from retrograd.random.state import USES, Positions, positions, replayed
from retrograd.tensor import Array, Tensor, wrap

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "NestedIOFunction",
    "once_differentiable",
]


class FunctionMeta(type):
    """Makes, with each Function, the class of its contexts: ``Scale`` has ``ScaleBackward``."""

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], space: dict[str, object]) -> None:
        facts = {"__slots__": (), "__module__": __name__, "_forward_cls": cls}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), facts)
        super().__init__(name, bases, space)


class Function(FunctionCtx, metaclass=FunctionMeta):
    """An operation with a gradient of its own: subclass it, and call ``MyFunction.apply(...)``.

    `forward` computes the result from the arguments, tensors or not. `backward` gets one gradient
    per output and returns one per argument, None where there is nothing to say. Both are static
    methods and get `ctx` first, which carries values from one to the other.
    """

    generate_vmap_rule = False
    """Whether `vmap` may run the methods of this class on batched tensors."""

    clear_saved_tensors_on_access = False
    """Whether `ctx.saved_tensors` lets go of the tensors when it is read, which is then once."""

    boxed_grads_call = False
    """Whether `backward` gets its gradients as one list, which it may empty as it goes."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=user_level(),
        )

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        raise runtime_error(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)",
            code="RG404",
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: ``forward(ctx, *args)``, or without `ctx` beside `setup_context`."""
        raise explained(
            NotImplementedError(
                "You must implement the forward function for custom autograd.Function."
            ),
            code="RG404",
        )

    @staticmethod
    def setup_context(ctx: FunctionCtx, inputs: tuple[Any, ...], output: Any) -> Any:
        """Fill `ctx` after `forward`, which then takes no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: FunctionCtx, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the outputs. `vjp` is another name."""
        raise explained(
            NotImplementedError(
                "You must implement either the backward or vjp method for your custom "
                "autograd.Function to use it with backward mode AD."
            ),
            code="RG404",
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: FunctionCtx, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of the arguments: forward mode."""
        raise explained(
            NotImplementedError(
                "You must implement the jvp function for custom autograd.Function to use it with "
                "forward mode AD."
            ),
            code="RG404",
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The Function on batched arguments: returns outputs and the places of their batches."""
        raise explained(
            NotImplementedError(
                "To use autograd.Function with vmap, you must either override the vmap "
                "staticmethod or set generate_vmap_rule=True."
            ),
            code="RG404",
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the Function on its arguments, and record it.

        >>> class Double(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(x):
        ...         return x * 2
        ...     @staticmethod
        ...     def setup_context(ctx, inputs, output):
        ...         pass
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> Double.apply(torch.ones(2, requires_grad=True))
        tensor([2., 2.], grad_fn=<DoubleBackward>)
        """
        separate = has_setup_context(cls)
        if STATE.transforms and not separate:
            raise failures.old_function_in_transform()
        if separate:
            bound = inspect.signature(cls.forward).bind(*args, **kwargs)
            bound.apply_defaults()
            args, kwargs = bound.args, bound.kwargs
        arguments = _in_places(cls, args, kwargs, 0 if separate else 1) if kwargs else args
        return call_function(cls, arguments, separate)


def has_setup_context(function: type[Function]) -> bool:
    """Whether a Function fills its context in `setup_context`, not in `forward`."""
    return function.setup_context is not Function.setup_context


@above
def apply_to_batch(function: type[Function], arguments: tuple[Any, ...], level: int) -> Any:
    """The outputs of a Function one of whose arguments has this level of `vmap`."""
    raise NotImplementedError


@above
def as_batches(outputs: Any, level: int) -> Any:
    """Outputs that can have a history of this level."""
    raise NotImplementedError


def call_function(function: type[Function], arguments: tuple[Any, ...], separate: bool) -> Any:
    """One call of a Function at the level of ordinary tensors: forward, node, outputs."""
    for flag in ("clear_saved_tensors_on_access", "boxed_grads_call"):
        value = getattr(function, flag)
        if value is not False and value is not True:
            raise RuntimeError(f"{flag} must be a bool, got {type(value).__name__}")
    tensors: list[Tensor] = []
    wanted = False
    for value in arguments:
        if isinstance(value, Tensor):
            if value._view is not None:
                refresh(value)
            tensors.append(value)
            wanted = wanted or value._requires_grad
    if TRANSFORMS.active:
        return _call_in_transform(function, arguments, separate, tensors)
    node = FunctionNode(function, arguments)
    node.code, node.lasti = user_site(3)
    recorded = wanted and STATE.grad_enabled
    if recorded:
        _set_edges(node, tensors, 0)
    begin = positions() if recorded else None
    others = USES.others
    returned = _run_forward(function, node, arguments, separate)
    single = not isinstance(returned, tuple)
    values = (returned,) if single else returned
    if recorded and are_fresh(node, tensors, values):
        join_fresh(node, values)
        results = values
        if USES.others == others:  # it can run again: only one generator has to be replayed
            remembered(node, arguments)
            if positions() != begin:
                node.drew_from = begin
            if STATE.scope is not None:
                STATE.scope.made(node, arguments)
    else:
        outputs = Outputs(node, tensors, values, recorded=recorded, separate=separate)
        results = outputs.finish()
        outputs.save(results)
    node.saved_for_forward = None
    return results[0] if single else results


def _call_in_transform(
    function: type[Function], arguments: tuple[Any, ...], separate: bool, tensors: list[Tensor]
) -> Any:
    """The same where tensors may be batched or carry tangents."""
    # inside of vmap, tensors of a level below are constants here: their graph is recorded there
    level = max([x._level for x in tensors], default=0)
    if level and TRANSFORMS.dual_levels:
        arguments, tensors = TRANSFORMS.lifted(level, arguments, tensors)
    recorded = STATE.grad_enabled and any(x.requires_grad and x._level == level for x in tensors)
    batch: Any = None
    if level and not _runs_on_batches(level, tensors):
        moving = TRANSFORMS.dual_levels and TRANSFORMS.has_tangents(tensors)
        if moving and not separate:  # `forward` would have to run once for each kind of derivative
            raise failures.old_function_in_transform()
        batch = apply_to_batch(function, arguments, level)
        if not recorded and not moving:
            return batch
        batch = as_batches(batch, level)
    node = FunctionNode(function, arguments)
    node.code, node.lasti = user_site(4)
    if recorded:
        if level:
            node.needs_input_grad = tuple(
                [isinstance(x, Tensor) and x.requires_grad and x._level == level for x in arguments]
            )
        _set_edges(node, tensors, level)
    with _without_tangents():
        returned = _run_forward(function, node, arguments, separate, batch)
        single = not isinstance(returned, tuple)
        outputs = Outputs(
            node,
            tensors,
            (returned,) if single else returned,
            recorded=recorded,
            separate=separate,
        )
        results = outputs.finish()
    if TRANSFORMS.dual_levels:
        from retrograd.autograd.custom.forward import set_function_tangents

        set_function_tangents(outputs, results)
    outputs.save(results)
    node.saved_for_forward = None
    return results[0] if single else results


def _set_edges(node: FunctionNode, tensors: list[Tensor], level: int) -> None:
    edges: list[Node | None] = []
    numbers: list[int] = []
    for x in tensors:
        edge = edge_of(x) if x._requires_grad and x._level == level else None
        edges.append(edge)
        numbers.append(0 if edge is None else x._output_nr)
    node.edges = tuple(edges)
    node.edge_numbers = tuple(numbers) if any(numbers) else None
    note_cuts(node, tensors)


def _runs_on_batches(level: int, tensors: list[Tensor]) -> bool:
    """Whether `forward` may see the tensors of a batch of gradients, as it sees any others.

    Not where a graph outside of the batch has to be recorded: `vmap`'s rules do that.
    """
    from retrograd.transforms.batched import level_of, unwrap

    if not level_of(level).direct:
        return False
    return not (STATE.grad_enabled and any(unwrap(x, level)[0].requires_grad for x in tensors))


def _without_tangents() -> AbstractContextManager[None]:
    """In forward mode the ops inside `forward` pass no tangents on: `jvp` does."""
    if not TRANSFORMS.dual_levels:
        return nullcontext()
    from retrograd.autograd.custom.forward import paused

    return paused()


def _run_forward(
    function: Any, node: FunctionNode, arguments: tuple[Any, ...], separate: bool, batch: Any = None
) -> Any:
    """Run the user's `forward`: without recording, since `backward` stands for it.

    `batch` is what vmap made of it already.
    """
    enabled, cut = STATE.grad_enabled, STATE.cut
    ctx = node.shown()
    inside = Cut("no_grad", f"{function.__name__}.forward", node.code, node.lasti)
    try:
        set_grad_mode(False, inside)
        if not separate:
            return function.forward(ctx, *arguments)
        result = function.forward(*arguments) if batch is None else batch
        function.setup_context(ctx, arguments, result)
        return result
    finally:
        set_grad_mode(enabled, cut)


def forward_again(
    function: type[Function], arguments: list[Any], drew_from: Positions | None
) -> list[Array | None]:
    """What a second run of `forward` returns, for values that were let go."""
    if drew_from is not None:
        with replayed(drew_from):
            return forward_again(function, arguments, None)
    given = tuple([wrap(value) if is_array(value) else value for value in arguments])
    node = FunctionNode(function, given)
    returned = _run_forward(function, node, given, has_setup_context(function))
    values = returned if isinstance(returned, tuple) else (returned,)
    return [value._array if isinstance(value, Tensor) else None for value in values]


def _in_places(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], skipped: int
) -> tuple[Any, ...]:
    """Keyword arguments put in their places in the signature of `forward`.

    `backward` returns gradients by place, so every argument must have one.
    """
    code = function.forward.__code__
    names = code.co_varnames[skipped : code.co_argcount]
    for name in kwargs:
        if name not in names:
            if any([isinstance(x, Tensor) and x._level for x in args]):
                raise explained(
                    NotImplementedError(
                        "Run vmap on autograd.Function with kwarg-only Tensor args. Please do not "
                        f"pass kwarg-only Tensors to autograd.Function. Got: {kwargs}"
                    ),
                    code="RG610",
                )
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    count = max(len(args), *(names.index(name) + 1 for name in kwargs))
    if count > len(names):
        raise TypeError(f"forward() takes {len(names)} positional arguments but {count} were given")
    for place in range(len(args), count):
        if names[place] not in kwargs:
            raise TypeError(
                f"forward() missing required argument: '{names[place]}' (position {place})"
            )
    return (*args, *(kwargs[name] for name in names[len(args) : count]))


_F = TypeVar("_F", bound=Callable[..., object])

_TWICE = "trying to differentiate twice a function that was marked with @once_differentiable"


def once_differentiable(fn: _F) -> _F:
    """Mark a `backward` that has no derivative: differentiating its result is an error.

    >>> from retrograd.autograd.function import once_differentiable
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, grad):
    ...         return torch.tensor(2 * grad.numpy())
    >>> x = torch.ones(2, requires_grad=True)
    >>> Double.apply(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """

    @functools.wraps(fn)
    def wrapper(ctx: FunctionCtx, *args: Any, **kwargs: Any) -> Any:
        found = with_grad_mode(False, lambda: fn(ctx, *args, **kwargs))
        wanted = any(isinstance(arg, Tensor) and arg.requires_grad for arg in args)
        if not STATE.grad_enabled or not wanted:
            return found
        results = delayed_error(_TWICE, found if isinstance(found, tuple) else (found,))
        return results[0] if len(results) == 1 else results

    return wrapper  # type: ignore[return-value]


class InplaceFunction(Function):
    """A Function that remembers whether it was asked to work in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


@differs("can be named and derived from; old Functions with nested arguments do not run")
class NestedIOFunction(Function):
    """The base of old Functions on nested lists of tensors. Use `Function`: its arguments and
    results may be nested too, only tensors directly among them take part in differentiation.
    """

    def forward_extended(self, *input: Any) -> None:
        """What such a Function computes."""
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> None:
        """Its gradient."""
        raise NotImplementedError
