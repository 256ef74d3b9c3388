"""What a custom Function's `forward` returned becomes part of the graph.

Outputs get the Function's node as their history. Three kinds need more: an input that comes back as
it was (it turns into a view, so that it can have a history of its own), an input that was changed
in place, and a view made inside, which must not be written in place later: following such a write
would bypass the user's backward.
"""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, CPU
from retrograd.engine.accumulate import with_grad_mode
from retrograd.engine.function_node import FunctionNode, ReorderedNode
from retrograd.engine.lineage import cut_at
from retrograd.engine.packing import SavedTensor
from retrograd.engine.state import STATE, STRICT
from retrograd.engine.strictness import note_saved
from retrograd.engine.views import (
    bump,
    check_history,
    check_operand_view,
    forget_history,
    move_retained,
    rebase,
)
from retrograd.lifecycle.site import user_level
from retrograd.notices import explained, runtime_error
from retrograd.tensor import Tensor, cell_of


class Outputs:
    """The results of one call on their way into the graph."""

    def __init__(
        self,
        node: FunctionNode,
        tensors: list[Tensor],
        returned: tuple[object, ...],
        *,
        recorded: bool,
        separate: bool,
    ) -> None:
        self.node = node
        self.tensors = tensors  # the tensor arguments
        self.returned = returned
        self.recorded = recorded  # the node becomes part of the graph
        self.separate = separate  # the class has setup_context
        self.saving = self._tensors_to_save()
        self.watched = self._saved_by_setup_context()
        self.undifferentiable = _identities(_tensors_marked(node.non_differentiable))
        self.dirty = _dirty_tensors(node)
        node.non_differentiable = node.dirty_tensors = node.to_save = None

    def finish(self) -> tuple[Any, ...]:
        """Give every output its history, then save what is to be saved."""
        if self.node.is_pure_view and (len(self.tensors) != 1 or len(self.returned) != 1):
            raise RuntimeError(
                "Pure view custom Function can only have one input Tensor and one output "
                "Tensor. Open an issue if you need to support more."
            )
        carries = [self.carries(value) for value in self.returned]
        if self.recorded:
            self._describe(carries)
        outputs = [
            self._joined(value, number, carries[number]) if isinstance(value, Tensor) else value
            for number, value in enumerate(self.returned)
        ]
        if carries.count(True) > 1:
            for output in outputs:
                if isinstance(output, Tensor) and output._view is not None:
                    output._view.creation = "multi"
        given = _identities(self.returned)
        if any(id(tensor) not in given for tensor in self.dirty):
            raise runtime_error(
                "Some elements marked as dirty during the forward method were not returned as "
                "output. The inputs that are modified inplace must all be outputs of the "
                "Function.",
                code="RG405",
            )
        return tuple(outputs)

    def save(self, outputs: tuple[object, ...]) -> None:
        """Save for backward, now that outputs have their history and tangents."""
        if self.recorded:
            self.node.saved = tuple([self._saved(value, outputs) for value in self.saving])
            if STRICT.enabled:
                note_saved(self.node)
            if STATE.on_saved is not None:
                STATE.on_saved(self.node)

    def carries(self, value: object) -> bool:
        """Whether gradients flow through an output."""
        return (
            self.recorded
            and isinstance(value, Tensor)
            and id(value) not in self.undifferentiable
            and value._array.dtype in dtypes.DIFFERENTIABLE
        )

    def is_dirty(self, value: Tensor) -> bool:
        """Whether `mark_dirty` was told of this tensor."""
        return any(value is tensor for tensor in self.dirty)

    def place_of(self, value: Tensor) -> int | None:
        """Which of the tensor arguments this is."""
        for place, tensor in enumerate(self.tensors):
            if tensor is value:
                return place
        return None

    # ------------------------------------------------------------------ what the node knows

    def _describe(self, carries: list[bool]) -> None:
        """Shapes and dtypes of the outputs; None where no gradient can arrive."""
        node = self.node
        node.described = [
            (value._array.shape, value._array.dtype) if isinstance(value, Tensor) else None
            for value in self.returned
        ]
        arrays = (value._array for value in self.returned if isinstance(value, Tensor))
        node.place = BACKENDS.get(type(next(arrays, None)), CPU)  # type: ignore[arg-type]
        pairs = [
            entry if carried and entry is not None else (None, None)
            for entry, carried in zip(node.described, carries, strict=True)
        ]
        if len(pairs) == 1:
            node.shape, node.dtype = pairs[0]
        else:
            node.shape = [shape for shape, _ in pairs]
            node.dtype = [dtype for _, dtype in pairs]

    # ------------------------------------------------------------------ one output

    def _joined(self, value: Tensor, number: int, carried: bool) -> Tensor:
        """An output with its history: the tensor itself, or what stands for it."""
        is_input = self.place_of(value) is not None
        written = self.is_dirty(value)
        if not carried:
            output = self._without_gradient(value, is_input, written)
        elif written:
            self._rebase(value, number)
            output = value
        else:
            output = self._viewed(value) if is_input else value
            output._grad_fn = self.node
            output._output_nr = number
            output._requires_grad = True
            output._cut = None
            if output._view is not None:
                output._view.at = cell_of(output).version
        if output._view is not None and not (is_input and written):
            output._view.creation = None if self.node.is_pure_view else "custom"
        return output

    def _viewed(self, value: Tensor) -> Tensor:
        """A view of an input that came back as it was."""
        if id(value) in self.watched:
            raise runtime_error(
                "An input that has been returned as-is as output is being saved for backward. "
                "This is not supported if you override setup_context. You should return and "
                "save a view of the input instead, e.g. with x.view_as(x) or setup ctx inside "
                "the forward function itself.",
                code="RG406",
            )
        made: Tensor = with_grad_mode(False, lambda: value.view_as(value))
        return made

    def _without_gradient(self, value: Tensor, is_input: bool, written: bool) -> Tensor:
        cut = STATE.cut
        if self.recorded:
            name = self.node.function.__name__
            cut = cut_at("nondifferentiable", name, *self._site(), self.node)
        elif STATE.grad_enabled:  # nothing required grad: an earlier cut may be why
            cut = next((x._cut for x in self.tensors if x._cut is not None), None)
        if not value.requires_grad:
            output = self._viewed(value) if is_input and not written else value
        elif is_input:
            output = value.detach()
        else:
            output = value
            if value._view is None:
                forget_history(value)
        if not written or output is not value:
            output._cut = cut
        return output

    def _site(self) -> tuple[Any, int]:
        return self.node.code, self.node.lasti

    # ------------------------------------------------------------------ changed in place

    def _rebase(self, value: Tensor, number: int) -> None:
        """Move an input that was written on to the Function's node."""
        writer = self.node.function.__name__
        if value._grad_fn is None and value.requires_grad:
            raise runtime_error(
                "a leaf Variable that requires grad has been used in an in-place operation.",
                code="RG105",
            )
        place = self.place_of(value)
        if place is None:
            message = (
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that "
                "have been mutated should be passed to ctx.mark_dirty()."
            )
            if value._view is not None:
                raise runtime_error(message, code="RG405")
            warnings.warn(message, UserWarning, stacklevel=user_level())
        if value._view is not None and len(self.returned) > 1:
            raise runtime_error(
                "If your Function modifies inplace an input that is a view of another Tensor, "
                "your Function cannot return more than one Tensor. This is not supported by "
                "the current autograd engine. You should either make sure the input is not a "
                "view (using .clone() for example) or make your Function only return one "
                "Tensor (potentially splitting it into two Functions: one doing the inplace "
                "that returns a single Tensor and a second one that does the other "
                "operations). You can ask on the forum https://discuss.pytorch.org/ if you "
                "need help to do this change.",
                code="RG405",
            )
        meta = value._meta
        if meta is not None:
            meta.grad = meta.hooks = meta.accumulator = None
        if value.requires_grad:
            check_history(value, writer)
        else:
            check_operand_view(value, writer)
        if value._view is None:
            old, old_number = value._grad_fn, value._output_nr
            value._grad_fn = self.node
            value._output_nr = number
            value._requires_grad = True
            value._cut = None
            move_retained(value, old, old_number, self.node)
            return
        inner = ReorderedNode(self.node, place) if place else self.node
        rebase(value, inner, False)

    # ------------------------------------------------------------------ saving

    def _tensors_to_save(self) -> list[Tensor | None]:
        found: list[Tensor | None] = []
        for place, value in enumerate(self.node.to_save or ()):
            if value is None or isinstance(value, Tensor):
                found.append(value)
            elif self.recorded:
                raise explained(
                    TypeError(
                        f"save_for_backward can only save variables, but argument {place} is of "
                        f"type {type(value).__name__}"
                    ),
                    code="RG406",
                )
        return found

    def _saved_by_setup_context(self) -> set[int]:
        if not self.separate:
            return set()
        return _identities((*self.saving, *(self.node.saved_for_forward or ())))

    def _saved(self, value: Tensor | None, outputs: tuple[object, ...]) -> SavedTensor:
        number = next((n for n, output in enumerate(outputs) if output is value), None)
        is_output = number is not None and value is not None
        return SavedTensor(value, self.node, is_output=is_output, number=number or 0)


def are_fresh(node: FunctionNode, tensors: list[Tensor], values: tuple[object, ...]) -> bool:
    """Whether every output is simply new: the usual case, which `join_fresh` deals with."""
    if node.dirty_tensors is not None or node.non_differentiable is not None or node.is_pure_view:
        return False
    for place, value in enumerate(values):
        if (
            not isinstance(value, Tensor)
            or value._view is not None
            or value._requires_grad
            or value._array.dtype not in dtypes.DIFFERENTIABLE
        ):
            return False
        for other in (*tensors, *values[:place]):
            if other is value:
                return False
    for value in node.to_save or ():
        if not isinstance(value, Tensor):
            return False
    return True


def join_fresh(node: FunctionNode, values: tuple[Tensor, ...]) -> None:
    """Make new tensors the outputs of a node, and save what it was told to save."""
    described = [(x._array.shape, x._array.dtype) for x in values]
    node.described = list(described)
    if values and type(values[0]._array) is not CPU.array:
        node.place = BACKENDS.get(type(values[0]._array), CPU)
    if len(described) == 1:
        node.shape, node.dtype = described[0]
    else:
        node.shape = [shape for shape, _ in described]
        node.dtype = [dtype for _, dtype in described]
    for number, value in enumerate(values):
        value._grad_fn = node
        value._output_nr = number
        value._requires_grad = True
        value._cut = None
    saved: list[SavedTensor] = []
    # taken off the node first: packing may raise, and the node must not hold its own outputs then
    to_save, node.to_save = node.to_save or (), None
    for tensor in to_save:
        is_output = tensor is not None and tensor._grad_fn is node
        number = tensor._output_nr if tensor is not None and is_output else 0
        saved.append(SavedTensor(tensor, node, is_output=is_output, number=number))
    node.saved = tuple(saved)
    if STRICT.enabled:
        note_saved(node)
    if STATE.on_saved is not None:
        STATE.on_saved(node)


def _identities(values: Any) -> set[int]:
    return {id(value) for value in values if value is not None}


def _tensors_marked(values: tuple[Any, ...] | None) -> tuple[Tensor, ...]:
    for value in values or ():
        if not isinstance(value, Tensor):
            raise runtime_error(
                "mark_non_differentiable only accepts variable arguments, but got "
                f"{type(value).__name__}",
                code="RG406",
            )
    return values or ()


def _dirty_tensors(node: FunctionNode) -> tuple[Tensor, ...]:
    """The tensors given to `mark_dirty`; each counts as written once more."""
    values = node.dirty_tensors or ()
    for place, value in enumerate(values):
        if not isinstance(value, Tensor):
            raise runtime_error(
                f"mark_dirty can only accept variables, but argument {place} is of type "
                f"{type(value).__name__}",
                code="RG406",
            )
        writer = f"{node.function.__name__}.apply"
        if value.is_inference() and not STATE.inference:
            check_history(value, writer)
        bump(value, writer)
    return values
