"""The graph's side of the general path: the node of a call, what it saves, where paths are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, CPU, backend_of
from retrograd.engine.accumulate import has_accumulator, is_accumulator
from retrograd.engine.inference import INFERENCE_CELL
from retrograd.engine.lineage import cut_of, note_cuts
from retrograd.engine.node import Node, plain_node, remember_forward
from retrograd.engine.packing import SavedTensor, is_packed, must_pack, packed_form
from retrograd.engine.state import ANOMALY, HOT, STATE, STRICT, TRANSFORMS, Cut
from retrograd.engine.strictness import note_saved
from retrograd.engine.views import edge_of, link_view
from retrograd.lifecycle.site import user_site
from retrograd.ops import errors
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor, cell_of, wrap


def record(
    op: Op,
    args: tuple[object, ...],
    tensors: list[object],
    outputs: list[Tensor],
    half: dtypes.dtype | None,
    level: int = 0,
    dual: bool = False,
) -> Node | None:
    """Make the node of an op whose gradient is wanted and link it to the outputs.

    Arguments of a level below `level` are constants here: their own graph is recorded below.
    """
    if not STATE.grad_enabled:
        pass_on_cut(op, tensors, outputs, True)
        return None
    carries = [
        number not in op.nondifferentiable and output._array.dtype in dtypes.DIFFERENTIABLE
        for number, output in enumerate(outputs)
    ]
    if True not in carries:
        _refuse_integers(op, args, outputs)
        pass_on_cut(op, tensors, outputs, False)
        return None
    node = make_node(op, args, tensors, outputs, half, level=level, dual=dual)
    for number, output in enumerate(outputs):
        if carries[number]:
            output._grad_fn = node
            output._output_nr = number
            output._requires_grad = True
        else:
            output._cut = cut_by(op, [node])
    return node


def _refuse_integers(op: Op, args: tuple[object, ...], outputs: list[Tensor]) -> None:
    """Raise where a history was to end in integers because the caller asked for their dtype."""
    place = op.plan.places.get("dtype")
    if place is None or args[place] is None or op.name == "_to_dtype":  # a cast ends the history
        return
    raise errors.runtime_error(
        f"Autograd not support dtype: {outputs[0].dtype.type_name}", code="RG111"
    )


def is_wanted(op: Op, tensors: list[Any], level: int = 0) -> bool:
    """Whether an argument with a rule requires grad."""
    for x in op.plan.sources_of_edges(tensors):
        if isinstance(x, Tensor) and x._requires_grad and x._level == level:
            counts = x._cell is not INFERENCE_CELL or op.leaves_inference
            if counts or _meets_normal(op, tensors):
                return True
    return False


def _meets_normal(op: Op, tensors: list[object]) -> bool:
    """Whether a call has an operand from outside inference mode.

    Among themselves, inference tensors that require grad are not recorded, as in PyTorch.
    """
    wrapped = "wrapped" in op.numbers
    return any(
        x._cell is not INFERENCE_CELL if isinstance(x, Tensor) else x is not None and wrapped
        for x in tensors
    )


def make_node(
    op: Op,
    args: tuple[Any, ...],
    tensors: list[Any],
    outputs: list[Tensor],
    half: dtypes.dtype | None,
    overwritten: Tensor | None = None,
    level: int = 0,
    dual: bool = False,
) -> Node:
    """A node with edges and save list, laid out as the generated code lays it out.

    Saved outputs are left out: `fill_outputs` puts them in once they belong to the node.
    """
    plan = op.plan
    form = _node_form(op, tensors, outputs, half)
    pack = bool(plan.kept) and must_pack(op, outputs, dual)
    node = plain_node(packed_form(form) if pack else form)
    node.code, node.lasti = user_site(2)
    place = type(outputs[0]._array)
    if place is not CPU.array and place in BACKENDS and not pack and half is not dtypes.complex32:
        # what its `run` finds for gradients of another device, where nothing is conjugated first
        if form is op.node_class if half is None else form is op.half_class:
            node.run = HOT["run_elsewhere"](op, place, half is not None)
    if op.outputs == 1:
        array = outputs[0]._array
        node.shape, node.dtype = array.shape, array.dtype
    else:
        node.shape = [output._array.shape for output in outputs]
        node.dtype = [output._array.dtype for output in outputs]
    edges: list[Node | None] = []
    numbers: list[int] = []
    for x in plan.sources_of_edges(tensors):
        edge: Node | None = None
        if isinstance(x, Tensor) and x._requires_grad and x._level == level:
            known = not ANOMALY.enabled or has_accumulator(x)
            edge = edge_of(x)
            if not known and edge is not None and is_accumulator(edge):
                remember_forward(edge)  # new: an older one may be behind the node that runs now
        edges.append(edge)
        numbers.append(0 if edge is None else x._output_nr)
    node.edges = tuple(edges)
    node.edge_numbers = tuple(numbers) if any(numbers) else None
    note_cuts(node, tensors)
    if not plan.saves:
        return node
    saved: list[Any] = []
    for kind, name, source, _, _, readers, always in plan.saves:
        if kind == "output":
            saved += [None, None, 0]
        elif kind == "input":
            value = tensors[source]
            for position in readers:
                if edges[position] is not None:
                    break
            else:
                if not always:  # no rule that will run reads it
                    saved += [None, 0]
                    continue
            if not isinstance(value, Tensor):
                saved += [value, 0]
                continue
            if overwritten is value and source == 0:
                value = _copy_before_write(value)
            cell = value._cell
            if cell is INFERENCE_CELL:
                raise errors.inference_saved()
            version = 0 if cell is None else cell.version
            if pack:
                value = SavedTensor(value, node, is_output=False, number=0)
                value.name = name
            saved += [value, version]
        elif kind == "option":
            saved.append(args[source])
        else:
            saved.append(array_fact(plan, kind, source, tensors, outputs))
    node.saved = tuple(saved)
    if STRICT.enabled:
        note_saved(node)
    return node


def fill_outputs(op: Op, node: Node, outputs: list[Tensor]) -> None:
    """Save the outputs that the rules read: with their history, for hooks, and after any write."""
    for kind, _, number, place, *_ in op.plan.kept:
        if kind == "output":
            output = outputs[number]
            cell = cell_of(output)
            stored: Any = output._array
            if is_packed(node):
                stored = SavedTensor(output, node, is_output=True, number=number)
            saved = node.saved
            node.saved = (*saved[:place], stored, cell, cell.version, *saved[place + 3 :])
    if STRICT.enabled:
        note_saved(node)
    if STATE.on_saved is not None and op.plan.kept:
        STATE.on_saved(node)


def _node_form(
    op: Op, tensors: list[object], outputs: list[Tensor], half: dtypes.dtype | None
) -> type[Node]:
    if half is not None:
        return op.complex_half_class if half is dtypes.complex32 else op.half_class
    for x in (*tensors, *outputs):
        if isinstance(x, Tensor) and x._array.dtype in dtypes.COMPLEX_TYPES:
            return op.complex_class
    return op.node_class


def array_fact(
    plan: CallPlan, fact: str, source: int, tensors: list[Any], outputs: list[Tensor]
) -> Any:
    """Shape, dtype or strides of an operand, or of the first output, as rules ask for them."""
    if source < 0:
        return getattr(outputs[0]._array, fact)
    if plan.edges is None:  # the list is the only tensor parameter of such ops
        return tuple([getattr(item._array, fact) for item in tensors])
    value = tensors[source]
    return getattr(value._array, fact) if isinstance(value, Tensor) else None


def _copy_before_write(tensor: Tensor) -> Tensor:
    """The overwritten value, when a rule reads it, with the history it had."""
    if TRANSFORMS.active:  # batched, or with tangents: what makes it so is copied, and recorded
        copy = tensor.clone()
    else:
        copy = wrap(tensor._array.copy(order="K"))
    copy._grad_fn = tensor._grad_fn
    copy._output_nr = tensor._output_nr
    copy._requires_grad = tensor._requires_grad
    return copy


def cut_by(op: Op, sources: Sequence[object]) -> Cut | None:
    """The cut that an op without a derivative makes on the user's line."""
    if not STATE.grad_enabled:
        return STATE.cut
    return cut_of("nondifferentiable", op.label, *sources)


def pass_on_cut(op: Op, tensors: list[Any], outputs: list[Tensor], wanted: bool) -> None:
    """Remember on results without history where a path that could have carried one was cut."""
    cut: Cut | None = None
    for x in tensors:
        if isinstance(x, Tensor):
            if x._requires_grad:
                cut = STATE.cut if wanted or not STATE.grad_enabled else cut_by(op, tensors)
                break
            if cut is None:
                cut = x._cut
    for output in outputs:
        output._cut = cut


def link_outputs(op: Op, args: tuple[object, ...], source: Tensor, outputs: list[Tensor]) -> None:
    """Make the outputs of a view op views of its operand, where they are."""
    options = tuple([args[place] for place in op.plan.options])
    for number, output in enumerate(outputs):
        if op.view == "maybe" and not backend_of(source._array).xp.shares_memory(
            output._array, source._array
        ):
            continue
        link_view(source, output, op, options, None if op.outputs == 1 else number)
