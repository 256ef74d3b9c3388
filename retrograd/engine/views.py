"""Views and in-place writes: how a base and its views keep one history.

A view remembers its root base and the view ops that lead to it. A write through any of them bumps
the shared version cell and gives the *base* a new history; every view notices at its next use that
its `grad_fn` is older than the cell, and replays the ops from the base's new history.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from retrograd.above import above
from retrograd.backend import backend_of, can_write
from retrograd.engine import failures
from retrograd.engine.accumulate import accumulator
from retrograd.engine.grad_mode import SWITCHES, check_counted, enable_grad
from retrograd.engine.inference import (
    INFERENCE_CELL,
    cell_of_writes,
    flag_leaf,
    mark_inference,
)
from retrograd.engine.node import Node, extra_of, forward_name
from retrograd.engine.slices import CopySlices
from retrograd.engine.state import STATE, STRICT, TRANSFORMS, Cut, next_sequence
from retrograd.lifecycle.site import user_site
from retrograd.notices import runtime_error
from retrograd.tensor import (
    Array,
    Tensor,
    VersionCell,
    cell_of,
    meta_of,
    tensor_member,
    tensor_property,
)

if TYPE_CHECKING:
    from retrograd.ops.registry import Op


class ViewStep:
    """One view op of a chain: how to take the region again, and how to take its gradient back."""

    __slots__ = ("number", "op", "options")

    def __init__(self, op: Op, options: tuple[object, ...], number: int | None) -> None:
        self.op = op
        self.options = options
        self.number = number  # which output, for ops with several

    def raw(self, array: Array) -> Array:
        """The region of an array."""
        backend = backend_of(array)
        found = getattr(backend.raw, self.op.name)(array, *self.options)
        result: Array = found if self.number is None else found[self.number]
        shared: Array = backend.xp.writable(result, array)
        return shared

    def recorded(self, tensor: Tensor) -> Tensor:
        """The region of a Tensor, recorded."""
        if self.op.barrier:
            return tensor  # the same elements; the tangents in the options are those of another
        found = self.op.function(tensor, *self.options)
        result: Tensor = found if self.number is None else found[self.number]
        return result

    def raw_gradient(self, gradient: Array, source: Array) -> Array:
        """The gradient of the source of this step, as an array."""
        op = self.op
        raw = backend_of(source).raw
        sent: Array | list[Array | None] = gradient
        if self.number is not None:
            count = len(getattr(raw, op.name)(source, *self.options))
            sent = [None] * count
            sent[self.number] = gradient
        plan = op.plan
        rule, reads = plan.rules[0]
        known = dict(zip(plan.options, self.options, strict=True))
        values = [
            known[save.source] if save.kind == "option" else getattr(source, save.kind)
            for save in map(plan.saves.__getitem__, reads)
        ]
        result: Array = rule(raw, sent, *values)
        return result


# One view op in a linked list: op, options, which of several outputs, and the op before it.
Link = tuple["Op", tuple[Any, ...], int | None, "Link | None"]


class ViewInfo:
    """What makes a tensor a view: its root base, the way there, and how it was created.

    Views are made far more often than written, so the way is kept as links that cost little to
    make; `chain` turns them into steps. There is no `__init__`: calling the class is then cheaper.
    """

    __slots__ = ("at", "base", "creation", "last", "own")

    base: Tensor
    last: Link  # the view op that made it, which knows the one before
    at: int  # the version that `grad_fn` is right for
    creation: str | None  # None, "multi", "no_grad", "inference", "custom" or "transform"
    own: bool  # requires_grad was set on the view itself

    @property
    def chain(self) -> tuple[ViewStep, ...]:
        """The view ops that lead from the base to the view."""
        found: list[ViewStep] = []
        link: Link | None = self.last
        while link is not None:
            op, options, number, link = link
            found.append(ViewStep(op, options, number))
        return tuple(reversed(found))

    @chain.setter
    def chain(self, steps: tuple[ViewStep, ...]) -> None:
        link: Any = None
        for step in steps:
            link = (step.op, step.options, step.number, link)
        self.last = link


_LONG = 8


def link_view(
    source: Tensor, view: Tensor, op: Op, options: tuple[object, ...], number: int | None = None
) -> None:
    """Make `view`, the result of one view op on `source`, a view of source's root base.

    The generated functions of view ops do the same in line; see `calling.compile_parts`.
    """
    cell = cell_of(source)
    if cell is INFERENCE_CELL:
        mark_inference(view)  # no history to follow
        return
    view._cell = cell
    before = source._view
    creation: str | None = None
    if STATE.inference:
        creation = "inference"
    elif not STATE.grad_enabled:
        creation = "no_grad"
    elif number is not None:
        creation = "multi"
    elif before is not None:
        creation = before.creation
    info = view._view = ViewInfo()
    info.base = source if before is None else before.base
    info.last = (op, options, number, None if before is None else before.last)
    info.at = cell.version
    info.creation = creation
    info.own = False
    if not view._requires_grad and info.base._requires_grad:
        view._requires_grad = True  # without history a view follows its base; `refresh` keeps at it


def refresh(tensor: Tensor) -> None:
    """Before an op uses a view: bring its flag and, if it will be recorded, its history up to date.

    The test at the start is the usual case: nothing was written since the last look.
    """
    info = tensor._view
    cell = tensor._cell
    if info is None or cell is None:
        return
    if tensor._grad_fn is None:
        tensor._requires_grad = info.own or info.base._requires_grad
    if info.at != cell.version and STATE.grad_enabled:
        renew(tensor)


def refresh_flag(tensor: Tensor) -> None:
    """The same before an op without derivative, which asks for no history: none can be refused."""
    info = tensor._view
    if info is not None and tensor._grad_fn is None:
        tensor._requires_grad = info.own or info.base._requires_grad


def renew(tensor: Tensor) -> None:
    """Bring a view's history up to date with writes to its storage, whatever the grad mode."""
    info = tensor._view
    cell = tensor._cell
    if info is None or cell is None or info.at == cell.version:
        return
    base = info.base
    if base._meta is not None and base._meta.relaid > info.at:
        _lead_back(tensor, info)
    if tensor._grad_fn is None and not base._requires_grad:
        return
    if info.creation is not None:
        raise forbidden_view_error(tensor, stale=True)
    if _is_long(info) and _is_a_place(tensor, base):
        _lead_back(tensor, info)
    old, old_number = tensor._grad_fn, tensor._output_nr
    if SWITCHES.view_replay:
        again = _recorded_again(base, info.chain)
        node, tensor._output_nr = again._grad_fn, again._output_nr
    else:
        node, tensor._output_nr = replay_node(base, tensor, info.chain), 0
    tensor._grad_fn = node
    tensor._requires_grad = True
    info.at = cell.version
    move_retained(tensor, old, old_number, node)


@above
def replay_node(base: Tensor, tensor: Tensor, chain: tuple[ViewStep, ...]) -> Node:
    """One node for a whole chain of views of a base that was written to."""
    raise NotImplementedError


@above
def op_named(name: str) -> Op:
    """The op of that name."""
    raise NotImplementedError


def _recorded_again(base: Tensor, chain: tuple[ViewStep, ...]) -> Tensor:
    """The view ops once more, each with a node of its own."""
    with enable_grad():
        again = base
        for step in chain:
            again = step.recorded(again)
        return again


def _is_long(info: ViewInfo) -> bool:
    """Whether many view ops lead to a view: following all of them at each write adds up."""
    link: Link | None = info.last
    for _ in range(_LONG):
        if link is None:
            return False
        link = link[3]
    return link is not None


def _is_a_place(tensor: Tensor, base: Tensor) -> bool:
    """Whether a view shows elements of its base as they are, which strides then describe."""
    return not TRANSFORMS.active and tensor._array.dtype == base._array.dtype


def _lead_back(tensor: Tensor, info: ViewInfo) -> None:
    """A new chain by place in memory: for a long one, or if the base changed its own geometry."""
    array, base = tensor._array, info.base._array
    unit = array.itemsize
    strides = tuple(stride // unit for stride in array.strides)
    shift = (array.ctypes.data - base.ctypes.data) // unit
    info.chain = (ViewStep(op_named("as_strided"), (array.shape, strides, shift), None),)


def edge_of(tensor: Tensor) -> Node | None:
    """The node that a consumer of `tensor` points at, or None where no gradient can flow."""
    if tensor._view is not None:
        refresh(tensor)
    node = tensor._grad_fn
    if node is not None or not tensor._requires_grad:
        return node
    if tensor._view is not None and not tensor._view.own:
        return None  # a view made under no_grad: requires grad through its base, but has no history
    return accumulator(tensor)


def move_retained(tensor: Tensor, old: Node | None, old_number: int, new: Node | None) -> None:
    """After an in-place op: hooks stay with the old history, `retain_grad` follows the tensor."""
    meta = tensor._meta
    if meta is None:
        return
    meta.hooks = None if old is not None else meta.hooks
    if meta.retains_grad and old is not None and old.extra is not None:
        retains = old.extra.retains
        keep = None if retains is None else retains.pop(meta.retains_number, None)
        meta.retains_number = tensor._output_nr
        if keep is not None and new is not None:
            extra = extra_of(new)
            if extra.retains is None:
                extra.retains = {}
            extra.retains[tensor._output_nr] = keep


# ----------------------------------------------------------------------------- in-place writes


def bump(tensor: Tensor, writer: str) -> None:
    """Count a write to the tensor's storage and remember the line that did it."""
    cell = tensor._cell
    if cell is None:
        cell = tensor._cell = VersionCell()
    elif cell is INFERENCE_CELL:
        cell = cell_of_writes(tensor)
        if cell is None:
            return
    if STRICT.enabled:
        check_strictly(tensor, writer)  # where nobody has announced the write
    cell.version += 1
    cell.writer = writer
    cell.code, cell.lasti = user_site(3)  # past this function and the op that called it


def announce_write(tensor: Tensor, writer: str) -> None:
    """Before a write: `allow_mutation_on_saved_tensors` copies what was saved of the memory.

    In strict mode it raises if a node still needs what is there.
    """
    if STATE.mutation is not None:
        STATE.mutation.before_write(tensor)
    elif STRICT.enabled:
        check_strictly(tensor, writer)


def check_strictly(tensor: Tensor, writer: str) -> None:
    """In strict mode: raise if a node that has not run yet needs what is about to be written."""
    from retrograd.engine.strictness import check_write  # which needs this module

    check_write(tensor, writer)


def check_writable(tensor: Tensor, writer: str) -> None:
    """Raise where PyTorch forbids an in-place op on this tensor, in PyTorch's order of checks."""
    check_history(tensor, writer)
    check_elements(tensor)


def check_elements(tensor: Tensor) -> None:
    """Raise where a tensor cannot be written element by element."""
    if not can_write(tensor._array) or 0 in tensor._array.strides:
        check_not_expanded(tensor)


def check_history(tensor: Tensor, writer: str) -> None:
    """Raise where the history of a tensor forbids in-place ops, even those that write nothing."""
    announce_write(tensor, writer)
    check_counted(tensor)
    info = tensor._view
    if STATE.grad_enabled and tensor.requires_grad:
        if info is not None:
            if info.creation == "transform":
                raise _transformed_written(info, writer)
            if info.creation is not None:
                raise forbidden_view_error(tensor, stale=False)
            if info.base._grad_fn is None:
                raise failures.leaf_view_written(writer)
        elif tensor._grad_fn is None:
            raise failures.leaf_written(writer)


def _transformed_written(info: ViewInfo, writer: str) -> Exception:
    """The error for writing an input of `func.grad`, which is a leaf there, or a view of it."""
    if info.last[0].name == "_alias":
        return failures.leaf_written(writer)
    return failures.leaf_view_written(writer)


def check_operand_view(tensor: Tensor, writer: str) -> None:
    """The same for a view that will require grad only because an operand does."""
    info = tensor._view
    if info is not None:
        if info.creation is not None:
            raise forbidden_view_error(tensor, stale=False)
        if info.base._grad_fn is None and info.base._requires_grad:
            raise failures.leaf_view_written(writer)


def check_not_expanded(tensor: Tensor) -> None:
    """A tensor whose elements share memory (expand) cannot be written element by element."""
    if tensor._level:
        return  # batched: asked again of the physical tensor, where the elements are
    array = tensor._array
    overlaps = array.size > 0 and any(
        stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )
    if overlaps:
        raise runtime_error(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.",
            code="RG115",
        )
    if can_write(array):
        return
    try:
        array.flags.writeable = True  # part of an expanded tensor: each element of it is there once
    except ValueError:
        raise RuntimeError(
            "cannot write into this tensor: it shares memory with a NumPy array that is not "
            "writeable"
        ) from None


def check_overlap(target: Tensor, operands: Iterable[object]) -> None:
    """Refuse an in-place op one of whose operands is another part of the written storage."""
    cell = target._cell
    if cell is None or target._level:
        return  # batched: asked again of the physical tensor
    written = target._array
    for operand in operands:
        if operand is target or not isinstance(operand, Tensor) or operand._cell is not cell:
            continue
        read = operand._array
        same = (
            backend_of(read).address(read) == backend_of(written).address(written)
            and read.strides == written.strides
            and read.shape == written.shape
        )
        if same or not (is_dense(read) and is_dense(written)):
            continue
        if backend_of(read).xp.shares_memory(read, written):
            raise runtime_error(
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location. Please clone() the tensor before "
                "performing the operation.",
                code="RG115",
            )


def is_dense(array: Array) -> bool:
    """Whether the elements fill one block of memory without gaps or overlap, in any order."""
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return True
    expected = array.itemsize
    for stride, size in sorted(zip(array.strides, array.shape, strict=True)):
        if size == 1:
            continue
        if stride != expected:
            return False
        expected *= size
    return True


def rebase(tensor: Tensor, node: Node, saves_output: bool) -> None:
    """Give a written tensor its new history; a view's base gets it through `CopySlices`."""
    info = tensor._view
    if info is None:
        old, number = tensor._grad_fn, tensor._output_nr
        tensor._grad_fn = node
        tensor._output_nr = 0
        tensor._requires_grad = True
        tensor._cut = None
        move_retained(tensor, old, number, node)
        return
    base = info.base
    slices = CopySlices(node, info.chain, base._array.strides)
    slices.code, slices.lasti = node.code, node.lasti
    slices.shape, slices.dtype = base._array.shape, base._array.dtype
    before = edge_of(base) if base._requires_grad else None
    slices.edges = (before, *node.edges[1:])
    numbers = (base._output_nr, *(node.edge_numbers or (0,) * len(node.edges))[1:])
    slices.edge_numbers = numbers if any(numbers) else None
    old, number = base._grad_fn, base._output_nr
    base._grad_fn = slices
    base._output_nr = 0
    base._requires_grad = True
    base._cut = None
    move_retained(base, old, number, slices)
    info.at = -1
    renew(tensor)
    if saves_output and tensor._grad_fn is not None:
        extra_of(node).output_node = weakref.ref(tensor._grad_fn)


def forbidden_view_error(tensor: Tensor, *, stale: bool) -> Exception:
    """The error for writing (or using, after a write) a view that cannot follow its base."""
    info = tensor._view
    assert info is not None
    creation = info.creation
    node = tensor._grad_fn
    what = "is being modified inplace"
    if stale:
        what = "its base or another view of its base has been modified inplace"
    mode = None
    if creation == "inference":
        mode, what = "inference mode", what + " in normal mode"
    elif creation == "no_grad" or node is None:
        # PyTorch says so of every view without history, of unbind's too
        mode, what = "no_grad mode", what + " with grad mode enabled"
    if node is None:
        start = f"A view was created in {mode} and {what}. "
    elif mode is not None:
        start = (
            f"Output {tensor._output_nr} of {forward_name(node)} is a view of a view which was "
            f"created in {mode} and {what}. "
        )
    else:
        start = f"Output {tensor._output_nr} of {forward_name(node)} is a view and {what}. "
    return failures.forbidden_view(start + _FORBIDDEN[creation or ""])


_AMBIGUOUS = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your "
    "code by moving both the view and the inplace either both inside the {0} block (if you don't "
    "want the inplace to be tracked) or both outside (if you want the inplace to be tracked)."
)
_FORBIDDEN = {
    "multi": (
        "This view is the output of a function that returns multiple views. Such functions do not "
        "allow the output views to be modified inplace. You should replace the inplace operation "
        "by an out-of-place one."
    ),
    "no_grad": _AMBIGUOUS.format("no_grad"),
    "inference": _AMBIGUOUS.format("inference_mode"),
    "transform": (
        "This view is an input of a function transform, which differentiates the function at the "
        "values that its inputs had at first. You can fix this by cloning the tensor before the "
        "inplace operation."
    ),
    "custom": (
        "This view was created inside a custom Function (or because an input was returned as-is) "
        "and the autograd logic to handle view+inplace would override the custom backward "
        "associated with the custom Function, leading to incorrect gradients. This behavior is "
        "forbidden. You can fix this by cloning the output of the custom Function."
    ),
}


# --------------------------------------------------------------------------- public properties


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients flow to this tensor."""
    info = self._view
    if info is None or self._grad_fn is not None:
        return self._requires_grad
    return info.own or info.base._requires_grad


def _set_requires_grad(self: Tensor, value: bool) -> None:
    if not isinstance(value, bool):
        raise RuntimeError("requires_grad must be a bool")
    if not value and self._grad_fn is not None:
        raise failures.nonleaf_flag()
    if value:
        from retrograd.dtypes import DIFFERENTIABLE

        if self._array.dtype not in DIFFERENTIABLE:
            raise failures.nonfloat_flag(method=False)
        if self.is_inference() and not STATE.inference:
            raise runtime_error(
                "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                "allowed.",
                code="RG111",
            )
    if not value and self.requires_grad:
        meta_of(self).frozen = Cut.here("frozen", "requires_grad=False")
    flag_leaf(self, value)
    if self._view is not None:
        self._view.own = value
    if not value:
        self._cut = None  # else it stays true that the path to what lies behind ends there


def _delete_requires_grad(self: Tensor) -> None:
    raise RuntimeError("requires_grad must be a bool")


tensor_member(
    "requires_grad", property(_get_requires_grad, _set_requires_grad, _delete_requires_grad)
)


@tensor_property
def grad_fn(self: Tensor) -> Node | None:
    """The node that made this tensor, or None for a leaf."""
    if self._view is not None:
        renew(self)
    node = self._grad_fn
    return None if node is None else node.shown()


@tensor_property
def is_leaf(self: Tensor) -> bool:
    """Whether this tensor is the start of a graph: made by the user, not by an op."""
    if self._view is not None:
        renew(self)
    return self._grad_fn is None


def forget_history(tensor: Tensor) -> None:
    """`detach_()`: turn a tensor into a leaf; values saved with its history become unusable.

    Its hooks stay, with the old history and on the leaf; so does `retain_grad`.
    """
    if tensor._grad_fn is not None:
        cell_of(tensor).detached = next_sequence()
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._requires_grad = False
