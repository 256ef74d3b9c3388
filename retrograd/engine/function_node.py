"""The graph nodes of custom Functions.

A node of an op keeps its facts under plain names such as `shape`. The `ctx` of a custom Function
belongs to the user, who may call an attribute `shape` too. So the two are separate objects that
share one life: the engine sees a `FunctionNode`, the user sees its context (`grad_fn`, `ctx`). The
context points at the node, the node knows the context weakly and keeps the dictionary of its
attributes. Whoever asks gets the same context as long as somebody holds it, and one with the same
attributes afterwards; and there is no reference cycle.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from retrograd import dtypes
from retrograd.backend import CPU, Backend
from retrograd.backend.arrays import Array
from retrograd.engine import failures
from retrograd.engine.accumulate import accumulator, with_grad_mode
from retrograd.engine.fitting import expands
from retrograd.engine.hooked import run_late_hooks
from retrograd.engine.node import AnyDtype, BackwardCall, InputMetadata, Node, fill_node
from retrograd.engine.packing import SavedTensor
from retrograd.engine.saved import freed_failure
from retrograd.notices import runtime_error
from retrograd.tensor import Tensor, wrap

if TYPE_CHECKING:
    from retrograd.autograd.custom.context import BackwardCFunction
    from retrograd.autograd.function import Function
    from retrograd.engine.node import Gradient, Need

_T = TypeVar("_T")
# Shape and dtype of an output that is a tensor; None for anything else that forward returned.
Described = tuple[tuple[int, ...], np.dtype] | None


class FunctionNode(Node):
    """What one call of ``MyFunction.apply`` leaves in the graph."""

    __slots__ = (
        "arguments",
        "attributes",
        "cleared",
        "context",
        "described",
        "dirty_tensors",
        "drew_from",
        "function",
        "is_pure_view",
        "materialize_grads",
        "materialize_non_diff_grads",
        "needs_input_grad",
        "non_differentiable",
        "place",
        "saved_for_forward",
        "tensor_arguments",
        "to_save",
    )

    hides_unwanted = False

    function: type[Function]  # the user's class
    arguments: tuple[Any, ...] | None  # what a second `forward` needs; see `recipes.remembered`
    drew_from: tuple[Any, ...] | None  # where the generator was, if `forward` drew numbers
    attributes: dict[str, Any]  # what the user put on ctx
    context: weakref.ref[BackwardCFunction] | None
    tensor_arguments: tuple[bool, ...]  # which arguments of forward are tensors
    needs_input_grad: tuple[bool, ...] | None
    described: list[Described]  # the outputs
    place: Backend  # of the outputs
    cleared: bool  # saved_tensors was read, and goes by its first reading
    # what forward or setup_context said
    to_save: tuple[Tensor | None, ...] | None
    saved_for_forward: tuple[Tensor | None, ...] | None
    dirty_tensors: tuple[Tensor, ...] | None
    non_differentiable: tuple[Tensor, ...] | None
    materialize_grads: bool
    materialize_non_diff_grads: bool
    is_pure_view: bool

    def __init__(self, function: type[Function], arguments: tuple[Any, ...]) -> None:
        fill_node(self, FunctionNode)
        self.function = function
        self.attributes = {}
        self.arguments = self.drew_from = None
        self.context = None
        are_tensors = [isinstance(x, Tensor) for x in arguments]
        self.tensor_arguments = tuple(are_tensors)
        self.needs_input_grad = tuple(
            [tensor and x.requires_grad for x, tensor in zip(arguments, are_tensors, strict=True)]
        )
        self.described = []
        self.place = CPU
        self.cleared = False
        self.to_save = self.saved_for_forward = None
        self.dirty_tensors = self.non_differentiable = None
        self.materialize_grads = self.materialize_non_diff_grads = True
        self.is_pure_view = False

    def shown(self) -> BackwardCFunction:
        """The context: what the user sees of this node."""
        found = None if self.context is None else self.context()
        if found is None:
            found = self.function._backward_cls(self)
            self.context = weakref.ref(found)
        return found

    def name(self) -> str:
        """The node's name: that of the user's class and "Backward"."""
        return self.function._backward_cls.__name__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{self.name()} object at {hex(id(self))}>"

    @property
    def _input_metadata(self) -> tuple[InputMetadata, ...]:
        single = not isinstance(self.shape, list)
        shapes, kinds = ([self.shape], [self.dtype]) if single else (self.shape, self.dtype)
        return tuple(
            InputMetadata((), dtypes.F32) if shape is None else InputMetadata(shape, dtype)
            for shape, dtype in zip(shapes, kinds, strict=True)
        )

    # ------------------------------------------------------------------ what was saved

    def unpack_saved(self) -> tuple[Tensor | None, ...]:
        """The tensors of `save_for_backward`, checked."""
        if self.cleared:
            raise runtime_error(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access="
                "True is set on the autograd.Function. Either access saved_tensors only once, "
                "or set clear_saved_tensors_on_access=False.",
                code="RG408",
            )
        found = tuple([value.unpack(self) for value in self.raw_saved()])
        if self.function.clear_saved_tensors_on_access:
            self.saved = ()
            self.cleared = True
        return found

    def raw_saved(self) -> tuple[SavedTensor, ...]:
        """The saved values as objects; an error once a backward call released them."""
        if self.freed is not None:
            raise freed_failure(self)
        return self.saved

    def release(self, call: BackwardCall) -> None:
        for value in self.saved:
            value.release()
        self.saved = ()
        self.arguments = None
        Node.release(self, call)

    # ------------------------------------------------------------------ backward

    def run_raw(
        self, gradient: Any, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Array | None]:
        parts = gradient if isinstance(self.shape, list) else [gradient]
        gradients = [None if part is None else wrap(part) for part in parts]
        parts.clear()  # the engine's list: nothing keeps a gradient that the user lets go of
        gradient = None
        unhooked = self.extra is None
        results = with_grad_mode(False, lambda: self._backward(gradients))
        arrays: Sequence[Array | None] = [
            None if result is None else result._array for result in results
        ]
        if unhooked and self.extra is not None:
            arrays = run_late_hooks(self, arrays, raw=True)
        if freeing is not None:
            self.release(freeing)
        return arrays

    def run_recorded(
        self, gradient: Any, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Tensor | None]:
        gradients = gradient if isinstance(self.shape, list) else [gradient]
        gradient = None
        unhooked = self.extra is None
        results: Sequence[Tensor | None] = self._backward(gradients)
        if unhooked and self.extra is not None:
            results = run_late_hooks(self, results, raw=False)
        if freeing is not None:
            self.release(freeing)
        return results

    def _backward(self, gradients: list[Tensor | None]) -> list[Tensor | None]:
        """Call the user's backward and check what it returns; empties the list it is given."""
        if self.materialize_grads:
            for number in range(len(gradients)):  # no variable that would keep the last of them
                if gradients[number] is None:
                    gradients[number] = self._zeros(number)
        context = self.shown()
        given = list(gradients)
        gradients.clear()
        if self.function.boxed_grads_call:
            found = context.apply_boxed(given)  # which lets the user empty the list
        else:
            found = context.apply(*given)
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _zeros(self, number: int) -> Tensor | None:
        entry = self.described[number]
        if entry is None:
            return None
        shape = self.shape[number] if isinstance(self.shape, list) else self.shape
        if shape is None and not self.materialize_non_diff_grads:
            return None
        zeros = self.place.xp.zeros(entry[0], dtypes.from_numpy_dtype(entry[1]).numpy)
        return wrap(zeros)

    def _checked(self, results: tuple[object, ...]) -> list[Tensor | None]:
        """The gradients of the tensor arguments, each with the shape and dtype of its argument."""
        wanted = len(self.tensor_arguments)
        if len(results) > wanted and all(result is None for result in results[wanted:]):
            results = results[:wanted]
        if len(results) != wanted:
            raise runtime_error(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{wanted}, got {len(results)})",
                code="RG401",
            )
        checked: list[Tensor | None] = []
        for position, result in enumerate(results):
            if not self.tensor_arguments[position]:
                if result is not None:
                    raise runtime_error(
                        f"function {self.name()} returned a gradient different than None at "
                        f"position {position + 1}, but the corresponding forward input was "
                        "not a Variable",
                        code="RG403",
                    )
                continue
            if result is not None and not isinstance(result, Tensor):
                raise runtime_error(
                    f"expected Variable or None (got {type(result).__name__})", code="RG403"
                )
            checked.append(result)
        for place, (gradient, target) in enumerate(zip(checked, self.edges, strict=False)):
            if gradient is None or target is None:  # nothing there, or nobody waits for it
                continue
            array = gradient._array
            if array.shape != target.shape or array.dtype is not target.dtype:
                checked[place] = self._fitted(place, target, gradient)
        return checked

    def _fitted(self, place: int, target: Node, gradient: Tensor) -> Tensor:
        """A gradient summed and cast to what its argument is, before hooks see it."""
        shape, dtype = target.shape, target.dtype
        if isinstance(shape, list):
            number = 0 if self.edge_numbers is None else self.edge_numbers[place]
            shape, dtype = shape[number], dtype[number]
        given = tuple(gradient.shape)
        if given != shape:
            if not expands(shape, given):
                raise failures.invalid_gradient(self.name(), place, given, shape)
            gradient = gradient.sum_to_size(shape)
        if isinstance(dtype, AnyDtype):
            return gradient if dtype.takes(gradient._array.dtype) else gradient.real
        wanted = dtypes.from_numpy_dtype(dtype)
        if gradient.dtype is wanted:
            return gradient
        if not gradient.is_floating_point() and gradient.is_complex() != wanted.is_complex:
            raise runtime_error(
                "Expected isFloatingType(grad.scalar_type()) || (input_is_complex == "
                "grad_is_complex) to be true, but got false.  (Could this error message be "
                "improved?  If so, please report an enhancement request to PyTorch.)",
                code="RG403",
            )
        return gradient.to(wanted)


class ReorderedNode(Node):
    """A Function's node with one edge moved to the front, for `CopySlices`.

    The first edge of the node inside `CopySlices` leads to the written view. A Function may have
    written any of its arguments.
    """

    __slots__ = ("inner", "place")

    def __init__(self, inner: Node, place: int) -> None:
        fill_node(self, ReorderedNode)
        self.inner = inner
        self.place = place
        self.code, self.lasti = inner.code, inner.lasti
        self.shape, self.dtype = inner.shape, inner.dtype
        self.edges = self._moved(inner.edges)
        if inner.edge_numbers is not None:
            self.edge_numbers = self._moved(inner.edge_numbers)

    def _moved(self, entries: Sequence[_T]) -> tuple[_T, ...]:
        place = self.place
        return (entries[place], *entries[:place], *entries[place + 1 :])

    def name(self) -> str:
        """The name of the Function's node."""
        return self.inner.name()

    def run_raw(
        self, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Array | None]:
        return self._moved(self.inner.run(self.inner, gradient, need, freeing))

    def run_recorded(
        self, gradient: Gradient, need: Need, freeing: BackwardCall | None
    ) -> Sequence[Tensor | None]:
        return self._moved(self.inner.run_recorded(gradient, need, freeing))

    def release(self, call: BackwardCall) -> None:
        self.inner.release(call)
        Node.release(self, call)


class Error(Node):
    """The history of a result that cannot be differentiated: running it raises."""

    __slots__ = ("message",)
    display_name = "torch::autograd::Error"
    error_code = "RG407"  # what asks for such a node is `once_differentiable`

    message: str

    def run_raw(self, gradient: Gradient, need: Need, freeing: BackwardCall | None) -> NoReturn:
        raise runtime_error(self.message, code=self.error_code)

    run_recorded = run_raw


class Underivable(Error):
    """The history of a tensor written by an in-place op that has no derivative."""

    __slots__ = ()
    display_name = "NotImplemented"
    error_code = "RG121"


Underivable.__name__ = "NotImplemented"  # PyTorch's name


def underivable(name: str, edges: tuple[Node | None, ...], numbers: tuple[int, ...]) -> Node:
    """A node that says, when a backward call comes to it, that an op has no derivative."""
    node = Underivable()
    fill_node(node, Underivable)
    node.message = f"derivative for {name} is not implemented"
    node.edges = edges
    node.edge_numbers = numbers if any(numbers) else None
    return node


def delayed_error(message: str, values: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    """The values with a history that raises `message` when a backward call comes to it."""
    node = Error()
    fill_node(node, Error)
    node.message = message
    edges: list[Node | None] = []
    results: list[Tensor | None] = []
    for number, value in enumerate(values):
        if value is None:
            edges.append(None)
            results.append(None)
            continue
        leaf = value.detach()
        leaf.requires_grad = True
        edges.append(accumulator(leaf))
        result = value._without_history()
        result._cell = None
        result._grad_fn, result._output_nr, result._requires_grad = node, number, True
        results.append(result)
    node.edges = tuple(edges)
    described = [(r._array.shape, r._array.dtype) if r is not None else ((), None) for r in results]
    if len(values) == 1:
        node.shape, node.dtype = described[0]
    else:
        node.shape = [shape for shape, _ in described]
        node.dtype = [dtype for _, dtype in described]
    return tuple(results)
