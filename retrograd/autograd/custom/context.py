"""`ctx`: what the methods of a custom Function get, and what `grad_fn` shows of its node."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, SupportsIndex

from retrograd.engine.function_node import FunctionNode
from retrograd.engine.hooks import RemovableHandle
from retrograd.engine.node import BackwardCall, InputMetadata, Node
from retrograd.engine.packing import SavedTensor
from retrograd.engine.state import STATE
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.autograd.function import Function


class FunctionCtx:
    """What `forward` and `setup_context` can say about a call of a custom Function."""

    if TYPE_CHECKING:  # what `BackwardCFunction` has, and whatever a user puts there

        @property
        def saved_tensors(self) -> tuple[Tensor, ...]: ...

        needs_input_grad: tuple[bool, ...]

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: object) -> None: ...

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, which finds them in ``ctx.saved_tensors``.

        Inputs, outputs and anything between may be saved. An in-place write to one of them before
        the backward pass is noticed, and they are let go of after it. Other values than tensors
        are kept as attributes of `ctx`.

        >>> class Square(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * grad
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
        """
        self.to_save: tuple[Tensor | None, ...] | None = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, which finds them in ``ctx.saved_tensors``."""
        for tensor in tensors:
            if not (isinstance(tensor, Tensor) or tensor is None):
                raise explained(
                    AssertionError(
                        "save_for_forward expects all arguments to be tensors; you should save "
                        "non-tensors as attributes on ctx."
                    ),
                    code="RG406",
                )
        self.saved_for_forward: tuple[Tensor | None, ...] | None = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` changed in place. It must return them.

        >>> class Twice(torch.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         x.mul_(2)
        ...         ctx.mark_dirty(x)
        ...         return x
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         return grad * 2
        >>> y = torch.ones(2, requires_grad=True).clone()
        >>> Twice.apply(y) is y
        True
        """
        self.dirty_tensors: tuple[Tensor, ...] | None = args

    def mark_shared_storage(self, *pairs: object) -> None:
        """Nothing is needed: tensors that share memory are known to do so."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically "
            "tracked. Note that calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=user_level(),
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient; `backward` still gets an entry for them."""
        self.non_differentiable: tuple[Tensor, ...] | None = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients that did not arrive are zeros (True, as it is at first) or None."""
        self.materialize_grads = value


def _fact(name: str) -> property:
    """A property of the context that is kept by the node."""

    def read(self: BackwardCFunction) -> Any:
        return getattr(self._function_node, name)

    def write(self: BackwardCFunction, value: object) -> None:
        setattr(self._function_node, name, value)

    return property(read, write)


def _switch(name: str, setter: str, *, readable: bool = False) -> property:
    """The same for a bool; PyTorch names its internal setter when it is given anything else."""

    def read(self: BackwardCFunction) -> Any:
        return getattr(self._function_node, name)

    def write(self: BackwardCFunction, value: object) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                f"{setter} received an invalid combination of arguments - got (), but expected "
                "(bool)"
            )
        setattr(self._function_node, name, value)

    return property(read if readable else None, write)


class BackwardCFunction(FunctionCtx):
    """The context of one call of a custom Function, and the `grad_fn` of its results.

    Every Function has a subclass named after it: results of ``Square`` have ``SquareBackward``.
    """

    __slots__ = ("_function_node",)

    _forward_cls: type[Function]
    _function_node: FunctionNode

    def __init__(self, node: FunctionNode) -> None:
        self._function_node = node
        self.__dict__ = node.attributes

    # ------------------------------------------------------------------ what forward said

    to_save = _fact("to_save")
    saved_for_forward = _fact("saved_for_forward")
    dirty_tensors = _fact("dirty_tensors")
    non_differentiable = _fact("non_differentiable")
    needs_input_grad = _fact("needs_input_grad")
    materialize_grads = _switch("materialize_grads", "set_materialize_grads")
    _is_pure_view = _switch("is_pure_view", "set_pure_view")
    _materialize_non_diff_grads = _switch(
        "materialize_non_diff_grads", "set_materialize_non_diff_grads", readable=True
    )

    # ------------------------------------------------------------------ what was saved

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The tensors that `save_for_backward` (in `jvp`: `save_for_forward`) was given."""
        node = self._function_node
        if node.saved_for_forward is not None:
            return node.saved_for_forward
        return node.unpack_saved()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'",
            DeprecationWarning,
            stacklevel=user_level(),
        )
        return self._function_node.unpack_saved()

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        return self._function_node.raw_saved()

    def maybe_clear_saved_tensors(self) -> None:
        """Let go of the saved tensors now, unless the running backward call keeps its graph."""
        call: BackwardCall | None = STATE.call
        if call is not None and call.frees(self._function_node):
            self._function_node.release(call)

    # ------------------------------------------------------------------ the user's methods

    def _get_user_fn(self) -> Callable[..., Any]:
        from retrograd.autograd.function import Function

        backward, vjp = self._forward_cls.backward, self._forward_cls.vjp
        if backward is not Function.backward and vjp is not Function.vjp:
            raise runtime_error(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                "You should only implement one of them.",
                code="RG404",
            )
        return vjp if vjp is not Function.vjp else backward

    def apply(self, *args: object) -> Any:
        """Call the user's `backward` (or `vjp`) with these gradients."""
        if self._forward_cls.boxed_grads_call:
            return self.apply_boxed(list(args))
        return self._get_user_fn()(self, *args)

    def apply_boxed(self, *args: object) -> Any:
        """Call the user's `backward` with a list of gradients that it may empty."""
        return self._get_user_fn()(self, *args)

    def apply_jvp(self, *args: object) -> Any:
        """Call the user's `jvp` with these tangents."""
        return self._forward_cls.jvp(self, *args)

    # ------------------------------------------------------------------ the node

    def name(self) -> str:
        """The node's name, such as ``SquareBackward``."""
        return self._function_node.name()

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the tensor arguments, each with the number of its output."""
        return self._function_node.next_functions

    @property
    def metadata(self) -> dict[object, Any]:
        """A dictionary that lives as long as the node, for anything."""
        return self._function_node.metadata

    @property
    def requires_grad(self) -> bool:
        """True: a node exists only where a gradient is wanted."""
        return True

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        return self._function_node._input_metadata

    def _sequence_nr(self) -> int:
        return self._function_node.sequence

    def _set_sequence_nr(self, number: int) -> None:
        self._function_node.sequence = number

    def register_hook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after this node ran; it may replace the former."""
        return self._function_node.register_hook(fn)

    def register_prehook(self, fn: Callable[..., object]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before this node runs; it may replace grad_outputs."""
        return self._function_node.register_prehook(fn)

    def _register_hook_dict(self, tensor: Tensor) -> None:
        if not isinstance(tensor, Tensor):
            raise RuntimeError("_register_hook_dict expected a Tensor")
        self._function_node._register_hook_dict(tensor)

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError(f"cannot pickle '{type(self).__name__}' object")

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {hex(id(self))}>"


def engine_node(shown: Node | BackwardCFunction) -> Node:
    """The node behind what a user holds: itself, or the one behind a Function's context."""
    return shown._function_node if isinstance(shown, BackwardCFunction) else shown
