"""The general path of ops that write: in place, and into an ``out=`` tensor."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from retrograd import dtypes
from retrograd.backend import CPU, NAMED, backend_of
from retrograd.engine import sparse_array
from retrograd.engine.grad_mode import check_counted
from retrograd.engine.sparse_array import SPARSE, has_sparse
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.engine.views import (
    announce_write,
    bump,
    check_elements,
    check_history,
    check_not_expanded,
    check_operand_view,
    check_overlap,
    rebase,
)
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.calling.devices import bring_along, is_elsewhere, mixed
from retrograd.ops.calling.dispatch import computed, package
from retrograd.ops.calling.operands import OPERANDS, half_of, level_of, operands_of
from retrograd.ops.calling.out_types import check_out_type
from retrograd.ops.calling.recording import fill_outputs, is_wanted, make_node, pass_on_cut
from retrograd.ops.making.memory import in_same_memory
from retrograd.tensor import Array, Tensor

if TYPE_CHECKING:
    from retrograd.ops.registry import Op


def dispatch_inplace(op: Op, args: tuple[Any, ...], operator: bool = False) -> Any:
    """An in-place op: the out-of-place twin, written back, with the history moved over.

    Operators answer NotImplemented to strangers.
    """
    if operator and not isinstance(args[1], OPERANDS):
        return NotImplemented
    writer = op.inplace_name or op.name
    target = args[0]
    if not isinstance(target, Tensor):
        raise errors.argument_type(writer, op.plan.tensor_names[0], 1, "Tensor", target)
    if SPARSE.exist and has_sparse([x._array for x in args if isinstance(x, Tensor)]):
        return sparse_array.run_in_place(op, args, writer)
    check_history(target, writer)
    tensors, arrays = operands_of(op, op.plan, args, False)
    if len(NAMED) > 1:
        if moved := bring_along(args, tensors):
            return dispatch_inplace(op, moved, operator)
        if type(arrays[0]) is CPU.array and is_elsewhere(arrays[1:]):
            raise mixed(op, arrays)
    level = level_of(tensors) if TRANSFORMS.active else 0
    track = STATE.grad_enabled and is_wanted(op, tensors, level)
    if track and not target._requires_grad:
        check_operand_view(target, writer)
    _check_memory(op, args, tensors, arrays)
    if level:
        if TRANSFORMS.dual_levels and target._level == level:
            args, tensors = TRANSFORMS.lifted(level, args, tensors)
        [shadow] = TRANSFORMS.batched(level, op, *_before_write(args, tensors))
        half = half_of(arrays) if op.half != "move" else None
    else:
        [shadow], half = computed(op, op.plan, args, arrays, [target], "_")
    write_check(target, shadow._array)
    dual = TRANSFORMS.dual_levels > 0 and TRANSFORMS.has_tangents(tensors)
    node = None
    if track and target._array.dtype in dtypes.DIFFERENTIABLE:
        node = make_node(op, args, tensors, [shadow], half, target, level, dual)
        node.dtype = target._array.dtype
        announce_write(target, writer)  # again: the node may have saved it, as in `x.mul_(x)`
    if dual:
        if node is not None:
            shadow._grad_fn, shadow._requires_grad = node, True
        TRANSFORMS.set_tangents(op, args, tensors, [shadow], True)
    if level:
        TRANSFORMS.batched_inplace(target, shadow, writer)
    else:
        backend_of(target._array).xp.copy_into(target._array, shadow._array)
        bump(target, writer)
    if dual:
        TRANSFORMS.write_tangent(target, shadow)
    if node is not None:
        rebase(target, node, op.plan.keeps_output)
        fill_outputs(op, node, [target])
        if STATE.scope is not None:
            STATE.scope.wrote(target, node, args)
    elif not target._requires_grad:
        pass_on_cut(op, tensors, [target], track)
    return target


def _check_memory(op: Op, args: tuple[Any, ...], tensors: list[Any], arrays: list[Any]) -> None:
    """Refuse to write elements that share memory; what the op itself refuses is said first.

    In PyTorch an op looks at its operands' types and options, then at their memory, then at their
    shapes.
    """
    target = args[0]
    try:
        check_elements(target)
        check_overlap(target, [x for x in tensors[1:] if isinstance(x, Tensor)])
    except RuntimeError:
        try:
            computed(op, op.plan, args, arrays, [target], "_")
        except NotImplementedError:  # said by a kernel, which comes last
            pass
        except Exception as own:
            if getattr(own, "code", None) != "RG201":
                raise own from None
        raise


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
    if result.shape != target._array.shape:
        raise errors.output_shape(target._array.shape, result.shape)
    result_type = dtypes.from_numpy_dtype(result.dtype)
    if not dtypes.can_cast(result_type, target.dtype):
        raise errors.cannot_cast_result(result_type, target.dtype)


# ---------------------------------------------------------------------------------------- out=


def dispatch_out(op: Op, args: tuple[Any, ...], out: Any) -> Any:
    """``out=``: compute, then write into the given tensor, which is resized if it must be."""
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    operands = operands_of(op, op.plan, args, False)
    assert operands is not None
    tensors, arrays = operands
    if SPARSE.exist and has_sparse([*arrays, *(x._array for x in outs if isinstance(x, Tensor))]):
        raise sparse_array.refuse_out(op, [*tensors, *outs])
    # a comparison or an index has no gradient to lose, whatever it is written into
    operands_with_rules = op.plan.sources_of_edges(tensors)
    for value in [*operands_with_rules, *(outs if op.plan.edges else ())]:
        if isinstance(value, Tensor) and value._requires_grad and STATE.grad_enabled:
            raise errors.runtime_error(
                f"{op.label}(): functions with out=... arguments don't support automatic "
                "differentiation, but one of the arguments requires grad.",
                code="RG116",
            )
    refuse_dual_out(op.label, [*tensors, *outs])
    if op.promote:  # element by element: what is written must not be read again
        for value in outs:
            if isinstance(value, Tensor):
                check_not_expanded(value)
                check_overlap(value, tensors)
    if TRANSFORMS.active and level_of([*tensors, *outs]):
        raise RuntimeError(
            f"Batching rule not implemented for aten::{op.label}.out; the fallback path doesn't "
            "work on out= or view ops."
        )
    results, _ = computed(op, op.plan, args, arrays, outs, "out")
    for target, result in zip(outs, results, strict=True):
        write_out(op.label, target, result._array)
    return outs[0] if op.outputs == 1 else package(op, outs)


def refuse_dual_out(name: str, tensors: list[Tensor]) -> None:
    """``out=`` passes no tangents on: raise where there are some."""
    if TRANSFORMS.dual_levels and TRANSFORMS.has_tangents(tensors):
        raise errors.explained(
            NotImplementedError(
                f"Trying to use forward AD with {name}_out that does not support it because it is "
                "an out= function"
            ),
            code="RG612",
        )


def write_out(name: str, target: object, result: Array) -> None:
    """Write a result into an ``out=`` tensor, in PyTorch's way: resize with a warning."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    check_counted(target)
    xp = backend_of(target._array).xp
    if result.dtype != target._array.dtype:
        result_type = dtypes.from_numpy_dtype(result.dtype)
        check_out_type(name, result_type, target.dtype)
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
                stacklevel=user_level(),
            )
        target._array = in_same_memory(target, result.shape)  # views see what is written
    check_not_expanded(target)
    announce_write(target, name)
    xp.copy_into(target._array, result)
    bump(target, name)
