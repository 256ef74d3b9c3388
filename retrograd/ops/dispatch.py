"""The general path of an op: every dtype, every mode, every kind of argument.

The generated functions of `ops.compile` handle the common case and call here for the rest. This is
the one place where promotion, half precision, complex numbers, inference mode, several outputs and
lists of tensors are dealt with.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.accumulate import is_accumulator
from retrograd.autograd.grad_mode import check_counted
from retrograd.autograd.node import Node, plain_node, remember_forward
from retrograd.autograd.packing import SavedTensor, is_packed, must_pack, packed_form
from retrograd.autograd.state import ANOMALY, STATE, TRANSFORMS, Cut
from retrograd.autograd.views import (
    announce_write,
    bump,
    check_not_expanded,
    check_operand_view,
    check_overlap,
    check_writable,
    edge_of,
    link_view,
    rebase,
    refresh,
)
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.lifecycle.site import user_site
from retrograd.ops import errors
from retrograd.tensor import INFERENCE_CELL, Array, Tensor, cell_of, mark_inference, wrap

if TYPE_CHECKING:
    from retrograd.ops.registry import Op

_NUMBERS = (bool, int, float, complex)
ndarray = np.ndarray


class _Plan:
    """What this module needs to know of an op again and again, worked out at its first call."""

    __slots__ = (
        *("copies", "edges", "keywords", "names", "only_tensors", "options", "saves", "takers"),
        "wraps",
    )

    def __init__(self, op: Op) -> None:
        places = {p.name: place for place, p in enumerate(op.parameters)}
        # place among the arguments, name, and whether it is a list, may be a number, may be None
        self.takers = tuple(
            (place, p.name, p.kind == "list", "operand" in p.kind, "optional" in p.kind)
            for place, p in enumerate(op.parameters)
            if p.kind != "option"
        )
        self.only_tensors = not op.option_names and not any(p.keyword_only for p in op.parameters)
        self.options = tuple([places[name] for name in op.option_names])
        self.keywords = tuple((places[p.name], p.name) for p in op.parameters if p.keyword_only)
        # where the tensors are that have a rule; None: in a list, all of them
        self.edges: tuple[int, ...] | None = None
        if "list" not in op.tensor_kinds:
            self.edges = tuple([op.tensor_names.index(name) for name in op.edge_names])
        self.names = {name: place for place, name in enumerate(op.tensor_names)}
        self.saves = tuple([(kind, name, places.get(name, 0)) for kind, name in op.save_plan])
        # the ways back from inference mode; and where a number stands for a new tensor
        self.copies = op.name in ("clone", "_to_dtype")
        self.wraps = op.name in ("add", "sub", "mul", "div", "_div_rounded")

    def sources(self, tensors: list[Any]) -> list[Any]:
        """The arguments that the node has edges to."""
        if self.edges is not None:
            return [tensors[place] for place in self.edges]
        return [x for x in tensors if isinstance(x, Tensor)]


_PLANS: dict[Op, _Plan] = {}


def argument_plan(op: Op) -> _Plan:
    """What is known of an op's arguments."""
    plan = _PLANS.get(op)
    if plan is None:
        plan = _PLANS[op] = _Plan(op)
    return plan


def dispatch(op: Op, args: tuple[Any, ...], operator: bool = False) -> Any:
    """Run an op on its full list of arguments; operators answer NotImplemented to strangers."""
    plan = argument_plan(op)
    operands = _operands(op, plan, args, operator)
    if operands is None:
        return NotImplemented
    tensors, arrays = operands
    level = _level_of(tensors) if TRANSFORMS.active else 0
    if level:
        outputs = TRANSFORMS.batched(level, op, args, tensors)
        half = _half_of(arrays) if op.half == "compute" else None
    else:
        results, half = _forward(op, plan, args, arrays)
        outputs = [wrap(result) for result in results]
    dual = TRANSFORMS.dual_levels > 0 and TRANSFORMS.has_tangents(tensors)
    node = None
    if not _is_wanted(plan, tensors, level):
        _pass_on_cut(op, tensors, outputs, False)
    else:
        node = _record(op, args, tensors, outputs, half, level, dual)
    if dual:  # with the history of the outputs, before they are saved
        TRANSFORMS.set_tangents(op, args, tensors, outputs)
    if node is not None:
        fill_outputs(op, node, outputs)
    if op.view is not None:
        _link(op, args, tensors[0], outputs)
    if STATE.inference:
        for output in outputs:
            if output._view is None:
                mark_inference(output)
    return _package(op, outputs)


def _level_of(tensors: list[Any]) -> int:
    """The innermost vmap call that an argument belongs to; 0 where all are ordinary tensors."""
    return max([x._level for x in tensors if isinstance(x, Tensor)], default=0)


def _package(op: Op, outputs: list[Tensor]) -> Any:
    if op.outputs == 1:
        return outputs[0]
    return op.returns(*outputs) if op.returns is not None else tuple(outputs)


# ----------------------------------------------------------------------------------- arguments


def _operands(op: Op, plan: _Plan, args: tuple[Any, ...], operator: bool) -> Any:
    """The tensor arguments (Tensor, number or None each; lists flattened) and their arrays."""
    if STATE.op_watcher is not None:
        STATE.op_watcher(op, args)
    tensors: list[Any] = []
    arrays: list[Any] = []
    found = False  # a Tensor
    for place, name, is_list, may_be_number, may_be_none in plan.takers:
        value = args[place]
        if is_list:
            items = _check_list(op, name, place + 1, value)
            tensors.extend(items)
            arrays.append([item._array for item in items])
            found = found or bool(items)
            continue
        if isinstance(value, Tensor):
            if value._view is not None:
                refresh(value)
            array: Any = value._array
            found = True
        elif value is None and may_be_none:
            array = None
        elif may_be_number and isinstance(value, _NUMBERS):
            array = value
        elif may_be_number and isinstance(value, np.generic):
            array = value = value.item()
        elif may_be_number and isinstance(value, ndarray):
            value = wrap(np.asarray(value, dtypes.from_numpy_dtype(value.dtype).numpy))
            array = value._array
            found = True
        elif operator:
            return None
        else:
            raise errors.argument_type(op.label, name, place + 1, "Tensor", value)
        tensors.append(value)
        arrays.append(array)
    if tensors and not found:
        if operator:
            return None
        raise errors.argument_type(op.label, op.tensor_names[0], 1, "Tensor", args[0])
    return tensors, arrays


def _check_list(op: Op, name: str, position: int, value: Any) -> list[Tensor]:
    if isinstance(value, Tensor) or not isinstance(value, Sequence):
        raise errors.argument_type(op.label, name, position, "tuple of Tensors", value)
    for index, item in enumerate(value):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {index} in argument {position - 1}, but got "
                f"{type(item).__name__}"
            )
        if item._view is not None:
            refresh(item)
    return list(value)


# ------------------------------------------------------------------------------------- forward


def _forward(
    op: Op, plan: _Plan, args: tuple[Any, ...], arrays: list[Any]
) -> tuple[list[Array], dtypes.dtype | None]:
    """Run the kernel; the second result is the half type when float32 stood in for it."""
    half: dtypes.dtype | None = None
    if op.check is not None:
        positional, keywords = _arguments(plan, args, arrays)
        op.check(*positional, **keywords)
    if op.promote:
        arrays = promote_arrays(op, arrays)
    if op.half == "compute":
        half = _half_of(arrays)
        if half is not None:
            arrays = [_widen(array) for array in arrays]
    positional, keywords = _arguments(plan, args, arrays)
    token = enter_quiet(QUIET)
    try:
        result = op.kernel(np, *positional, **keywords) if keywords else op.kernel(np, *positional)
    except Exception as error:
        raise failure(arrays, error) from None
    finally:
        leave_quiet(token)
    results = [result] if op.outputs == 1 else list(result)
    for index, array in enumerate(results):
        if type(array) is not ndarray:
            results[index] = array = np.asarray(array)
        # statistics that go along with a result stay as exact as they are
        if half is not None and array.dtype is dtypes.F32 and index not in op.nondifferentiable:
            results[index] = array.astype(half.numpy)
    return results, half


def failure(operands: Sequence[Any], error: Exception) -> Exception:
    """What to raise for an exception of a kernel: PyTorch's error where shapes do not broadcast."""
    if not isinstance(error, ValueError) or "broadcast" not in str(error):
        return errors.explained(error)
    together: tuple[int, ...] = ()
    for operand in operands:
        if isinstance(operand, np.ndarray):
            try:
                together = np.broadcast_shapes(together, operand.shape)
            except ValueError:
                return errors.broadcast(together, operand.shape)
    return error


def _arguments(
    plan: _Plan, args: tuple[Any, ...], arrays: list[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The call's arguments with arrays in place of tensors, as the kernel takes them."""
    if plan.only_tensors:
        return arrays, {}
    positional = list(args)
    for taker, array in zip(plan.takers, arrays, strict=True):
        positional[taker[0]] = array
    keywords: dict[str, Any] = {}
    for place, name in reversed(plan.keywords):  # they are the last parameters
        keywords[name] = positional.pop(place)
    return positional, keywords


def promote_arrays(op: Op, arrays: list[Any]) -> list[Any]:
    """Cast all operands to the type PyTorch's promotion gives them together."""
    common: Any = getattr(arrays[0], "dtype", None)
    for array in arrays:
        if type(array) is not ndarray or array.dtype is not common:
            break
    else:  # the usual case: they have it
        if not op.float_result or common.kind not in "biu":
            return arrays
    flat = [x for a in arrays for x in (a if isinstance(a, list) else [a]) if x is not None]
    if not flat:
        return arrays  # an empty list of tensors: the kernel says what is wrong
    target = dtypes.result_dtype(flat)
    if op.float_result and target.category < dtypes.FLOAT:
        target = dtypes.get_default_dtype()
    return [_cast(array, target) for array in arrays]


def _cast(value: Any, target: dtypes.dtype) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_cast(item, target) for item in value]
    if isinstance(value, ndarray):
        return value if value.dtype is target.numpy else value.astype(target.numpy)
    # a number: with integers it wraps around as PyTorch's does, with floats it stays weak
    if target.category <= dtypes.INTEGER:
        return np.asarray(value).astype(target.numpy)
    return np.asarray(value, np.float64 if target.category == dtypes.FLOAT else np.complex128)\
        .astype(dtypes.F32 if target.numpy in dtypes.HALF_TYPES else target.numpy)  # fmt: skip


def _half_of(arrays: list[Any]) -> dtypes.dtype | None:
    for value in arrays:
        if isinstance(value, ndarray):
            if value.dtype.itemsize == 2 and value.dtype in dtypes.HALF_TYPES:
                return dtypes.from_numpy_dtype(value.dtype)
        elif isinstance(value, list):
            found = _half_of(value)
            if found is not None:
                return found
    return None


def _widen(value: Any) -> Any:
    if isinstance(value, list):
        return [_widen(item) for item in value]
    if isinstance(value, ndarray) and value.dtype in dtypes.HALF_TYPES:
        return value.astype(np.float32)
    return value


# --------------------------------------------------------------------------------------- record


def _record(
    op: Op,
    args: tuple[Any, ...],
    tensors: list[Any],
    outputs: list[Tensor],
    half: dtypes.dtype | None,
    level: int = 0,
    dual: bool = False,
) -> Node | None:
    """Make the node of an op whose gradient is wanted and link it to the outputs.

    Arguments of a level below `level` are constants here: their own graph is recorded below.
    """
    if not STATE.grad_enabled:
        _pass_on_cut(op, tensors, outputs, True)
        return None
    carries = [
        number not in op.nondifferentiable and output._array.dtype in dtypes.DIFFERENTIABLE
        for number, output in enumerate(outputs)
    ]
    if True not in carries:
        _pass_on_cut(op, tensors, outputs, False)
        return None
    node = make_node(op, args, tensors, outputs, half, level=level, dual=dual)
    for number, output in enumerate(outputs):
        if carries[number]:
            output._grad_fn = node
            output._output_nr = number
            output._requires_grad = True
        else:
            output._cut = cut_by(op)
    return node


def _is_wanted(plan: _Plan, tensors: list[Any], level: int = 0) -> bool:
    """Whether an argument with a rule requires grad."""
    for x in plan.sources(tensors):
        if isinstance(x, Tensor) and x._requires_grad and x._level == level:
            if x._cell is not INFERENCE_CELL or plan.copies or _meets_normal(plan, tensors):
                return True
    return False


def _meets_normal(plan: _Plan, tensors: list[Any]) -> bool:
    """Whether a call has an operand from outside inference mode.

    Among themselves, inference tensors that require grad are not recorded, as in PyTorch.
    """
    return any(
        x._cell is not INFERENCE_CELL if isinstance(x, Tensor) else x is not None and plan.wraps
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
    plan = argument_plan(op)
    form = _node_form(op, tensors, outputs, half)
    pack = must_pack(op, outputs, dual)
    node = plain_node(packed_form(form) if pack else form)
    node.code, node.lasti = user_site(2)
    if op.outputs == 1:
        node.shape, node.dtype = outputs[0]._array.shape, outputs[0]._array.dtype
    else:
        node.shape = [output._array.shape for output in outputs]
        node.dtype = [output._array.dtype for output in outputs]
    edges: list[Node | None] = []
    numbers: list[int] = []
    for x in plan.sources(tensors):
        wanted = isinstance(x, Tensor) and x._requires_grad and x._level == level
        edge = edge_of(x) if wanted else None
        edges.append(edge)
        numbers.append(0 if edge is None else x._output_nr)
        if ANOMALY.enabled and edge is not None and is_accumulator(edge):
            remember_forward(edge)
    node.edges = tuple(edges)
    node.edge_numbers = tuple(numbers) if any(numbers) else None
    saved: list[Any] = []
    for kind, name, place in plan.saves:
        if kind == "output":
            saved += [None, None, 0]
        elif kind == "input":
            value = tensors[plan.names[name]]
            read = any(edges[i] is not None for i in op.reads[name])
            if not read:
                saved += [None, 0]
            elif isinstance(value, Tensor):
                if value._cell is INFERENCE_CELL:
                    raise errors.inference_saved()
                if overwritten is value and name == op.tensor_names[0]:
                    value = _copy_before_write(value)
                version = 0 if value._cell is None else value._cell.version
                if pack:
                    value = SavedTensor(value, node, is_output=False, number=0)
                    value.name = name
                saved += [value, version]
            else:
                saved += [value, 0]
        elif kind == "option":
            saved.append(args[place])
        else:
            saved.append(array_fact(plan, name, kind, tensors, outputs))
    node.saved = tuple(saved)
    return node


def fill_outputs(op: Op, node: Node, outputs: list[Tensor]) -> None:
    """Save the outputs that the rules read: with their history, for hooks, and after any write."""
    place = 0
    for kind, name in op.save_plan:
        if kind == "output":
            number = int(name[3:] or 0)
            output = outputs[number]
            cell = cell_of(output)
            stored: Any = output._array
            if is_packed(node):
                stored = SavedTensor(output, node, is_output=True, number=number)
            saved = node.saved
            node.saved = (*saved[:place], stored, cell, cell.version, *saved[place + 3 :])
        place += {"output": 3, "input": 2}.get(kind, 1)


def _node_form(
    op: Op, tensors: list[Any], outputs: list[Tensor], half: dtypes.dtype | None
) -> type[Node]:
    if half is not None:
        return op.half_class
    for x in (*tensors, *outputs):
        if isinstance(x, Tensor) and x._array.dtype.kind == "c":
            return op.complex_class
    return op.node_class


def array_fact(plan: _Plan, name: str, fact: str, tensors: list[Any], outputs: list[Tensor]) -> Any:
    """Shape, dtype or strides of an operand, or of the first output, as rules ask for them."""
    stem = name.rpartition("_")[0]
    if stem == "out":
        return getattr(outputs[0]._array, fact)
    if plan.edges is None:  # the list is the only tensor parameter of such ops
        return tuple([getattr(item._array, fact) for item in tensors])
    value = tensors[plan.names[stem]]
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
    return copy  # type: ignore[no-any-return]


def cut_by(op: Op) -> Cut | None:
    """The cut that an op without a derivative makes on the user's line."""
    return Cut.here("nondifferentiable", op.label) if STATE.grad_enabled else STATE.cut


def _pass_on_cut(op: Op, tensors: list[Any], outputs: list[Tensor], wanted: bool) -> None:
    """Remember on results without history where a path that could have carried one was cut."""
    cut: Cut | None = None
    for x in tensors:
        if isinstance(x, Tensor):
            if x._requires_grad:
                cut = STATE.cut if wanted or not STATE.grad_enabled else cut_by(op)
                break
            if cut is None:
                cut = x._cut
    for output in outputs:
        output._cut = cut


def _link(op: Op, args: tuple[Any, ...], source: Tensor, outputs: list[Tensor]) -> None:
    options = tuple([args[place] for place in argument_plan(op).options])
    for number, output in enumerate(outputs):
        if op.view == "maybe" and not np.may_share_memory(output._array, source._array):
            continue
        link_view(source, output, op, options, None if op.outputs == 1 else number)


# ------------------------------------------------------------------------------------- in place


def dispatch_inplace(op: Op, args: tuple[Any, ...]) -> Any:
    """An in-place op: the out-of-place twin, written back, with the history moved over."""
    writer = op.inplace_name or op.name
    target = args[0]
    if not isinstance(target, Tensor):
        raise errors.argument_type(writer, op.tensor_names[0], 1, "Tensor", target)
    check_writable(target, writer)
    tensors, arrays = _operands(op, argument_plan(op), args, False)
    check_overlap(target, [x for x in tensors[1:] if isinstance(x, Tensor)])
    level = _level_of(tensors) if TRANSFORMS.active else 0
    track = STATE.grad_enabled and _is_wanted(argument_plan(op), tensors, level)
    if track and not target._requires_grad:
        check_operand_view(target, writer)
    if level:
        [shadow] = TRANSFORMS.batched(level, op, *_before_write(args, tensors))
        half = _half_of(arrays) if op.half == "compute" else None
    else:
        results, half = _forward(op, argument_plan(op), args, arrays)
        shadow = wrap(results[0])
    write_check(target, shadow._array)
    dual = TRANSFORMS.dual_levels > 0 and TRANSFORMS.has_tangents(tensors)
    node = None
    if track and target._array.dtype in dtypes.DIFFERENTIABLE:
        node = make_node(op, args, tensors, [shadow], half, target, level, dual)
        node.dtype = target._array.dtype
        announce_write(target)  # again: the node may have saved it, as in `x.mul_(x)`
    if dual:
        if node is not None:
            shadow._grad_fn, shadow._requires_grad = node, True
        TRANSFORMS.set_tangents(op, args, tensors, [shadow], True)
    if level:
        TRANSFORMS.batched_inplace(target, shadow, writer)
    else:
        np.copyto(target._array, shadow._array, casting="unsafe")
        bump(target, writer)
    if dual:
        TRANSFORMS.write_tangent(target, shadow)
    if node is not None:
        saves_output = any(kind == "output" for kind, _ in op.save_plan)
        rebase(target, node, saves_output)
        fill_outputs(op, node, [target])
    elif not target._requires_grad:
        _pass_on_cut(op, tensors, [target], track)
    return target


def _before_write(args: tuple[Any, ...], tensors: list[Any]) -> tuple[tuple[Any, ...], list[Any]]:
    """The operands of a batched op in place, with a copy of what will be overwritten.

    The out-of-place twin may be recorded below, by transforms outside of vmap, and save it.
    """
    below = [getattr(x, "_physical", x) for x in tensors if isinstance(x, Tensor)]
    if not STATE.grad_enabled or not (
        TRANSFORMS.dual_levels or any([may_be_recorded(x) for x in below])
    ):
        return args, tensors
    target = args[0]
    copy = target.clone()
    return (
        tuple([copy if x is target else x for x in args]),
        [copy if x is target else x for x in tensors],
    )


def may_be_recorded(tensor: Any) -> bool:
    """Whether a tensor, or what it is a batch of, requires grad."""
    while tensor is not None:
        if tensor._requires_grad:
            return True
        tensor = getattr(tensor, "_physical", None)
    return False


def write_check(target: Tensor, result: Array) -> None:
    """The result of an in-place op must fit the target's shape and dtype."""
    result_type = dtypes.from_numpy_dtype(result.dtype)
    if not dtypes.can_cast(result_type, target.dtype):
        raise errors.cannot_cast_result(result_type, target.dtype)
    if result.shape != target._array.shape:
        raise errors.output_shape(target._array.shape, result.shape)


def dispatch_out(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """``out=``: compute, then write into the given tensor, which is resized if it must be."""
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    operands = _operands(op, argument_plan(op), args, False)
    assert operands is not None
    tensors, arrays = operands
    for value in [*tensors, *outs]:
        if isinstance(value, Tensor) and value._requires_grad and STATE.grad_enabled:
            raise errors.explained(
                RuntimeError(
                    f"{op.label}(): functions with out=... arguments don't support automatic "
                    "differentiation, but one of the arguments requires grad."
                )
            )
    refuse_dual_out(op.label, [*tensors, *outs])
    if TRANSFORMS.active and _level_of([*tensors, *outs]):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{op.label}.out; the fallback path doesn't "
            "work on out= or view ops."
        )
    results, _ = _forward(op, argument_plan(op), args, arrays)
    for target, result in zip(outs, results, strict=True):
        write_out(op.label, target, result)
    return outs[0] if op.outputs == 1 else _package(op, outs)


def refuse_dual_out(name: str, tensors: list[Any]) -> None:
    """``out=`` passes no tangents on: raise where there are some."""
    if TRANSFORMS.dual_levels and TRANSFORMS.has_tangents(tensors):
        raise errors.explained(
            NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is "
                "an out= function"
            )
        )


def write_out(name: str, target: Any, result: Array) -> None:
    """Write a result into an ``out=`` tensor, in PyTorch's way: resize with a warning."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    check_counted(target)
    result_type = dtypes.from_numpy_dtype(result.dtype)
    if not dtypes.can_cast(result_type, target.dtype):
        raise errors.cannot_cast_result(result_type, target.dtype)
    if target._array.shape != result.shape:
        if target._array.size:
            warnings.warn(
                "An output with one or more elements was resized since it had shape "
                f"{list(target._array.shape)}, which does not match the required output shape "
                f"{list(result.shape)}. This behavior is deprecated, and in a future PyTorch "
                "release outputs will not be resized unless they have zero elements. You can "
                "explicitly reuse an out tensor t by resizing it, inplace, to zero elements "
                "with t.resize_(0).",
                UserWarning,
                stacklevel=4,
            )
        target._array = np.empty(result.shape, target._array.dtype)
    check_not_expanded(target)
    announce_write(target)
    np.copyto(target._array, result, casting="unsafe")
    bump(target, name)
