"""The general path of an op: every dtype, every mode, every kind of argument.

The generated functions of `calling.compile` handle the common case and call here for the rest:
promotion, half precision, complex numbers, inference mode, several outputs, lists of tensors,
transforms. `calling.operands` reads the arguments, `calling.recording` makes the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import NAMED, is_array
from retrograd.backend.memory_order import as_pytorch_lays, laid_along
from retrograd.backend.quiet import QUIET, enter_quiet, leave_quiet
from retrograd.engine import sparse_array
from retrograd.engine.inference import mark_inference
from retrograd.engine.sparse_array import SPARSE, has_sparse
from retrograd.engine.state import AUTOCAST, HOT, STATE, TRANSFORMS
from retrograd.ops import errors
from retrograd.ops.calling import half_complex
from retrograd.ops.calling.devices import bring_along, on_one_device
from retrograd.ops.calling.on_device import flat_function
from retrograd.ops.calling.op_modes import Computed, through_modes
from retrograd.ops.calling.operands import (
    half_of,
    level_of,
    operands_of,
    promote_arrays,
    reads_mixed,
    widen,
)
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.calling.recording import (
    fill_outputs,
    is_wanted,
    link_outputs,
    pass_on_cut,
    record,
)
from retrograd.ops.calling.shortcut import shortcut
from retrograd.ops.registry import Op
from retrograd.tensor import Array, Tensor, wrap

ndarray = np.ndarray


def dispatch(op: Op, args: tuple[object, ...], operator: bool = False) -> Any:
    """Run an op on its full list of arguments; operators answer NotImplemented to strangers."""
    unusual = HOT["UNUSUAL"]
    if unusual == HOT["AUTOCASTS"]:
        found = flat_function(op, args, operator)
        if found is not None:
            if unusual and (STATE.autocast is not None or STATE.autocast_device is not None):
                args = AUTOCAST.cast_arguments(op, args)
            return found(*args)
    return dispatch_generally(op, args, operator)


def dispatch_generally(op: Op, args: tuple[object, ...], operator: bool = False) -> Any:
    """The same without a look for a generated function of the device."""
    plan = op.plan
    if TRANSFORMS.active and SPARSE.exist:
        sparse_array.refuse_batches(op, args)
    found = shortcut(op, plan, args)
    if found is not None:
        return found
    if STATE.autocast is not None or STATE.autocast_device is not None:
        args = AUTOCAST.cast_arguments(op, args)
    operands = operands_of(op, plan, args, operator)
    if operands is None:
        return NotImplemented
    tensors, arrays = operands
    if len(NAMED) > 1 and (moved := bring_along(args, tensors)):
        return dispatch(op, moved, operator)
    if SPARSE.exist and has_sparse(arrays):
        return sparse_array.run(op, args)
    level = level_of(tensors) if TRANSFORMS.active else 0
    if level:
        if TRANSFORMS.dual_levels:
            args, tensors = TRANSFORMS.lifted(level, args, tensors)
        outputs = TRANSFORMS.batched(level, op, args, tensors)
        half = half_of(arrays) if op.half != "move" else None
    else:
        outputs, half = computed(op, plan, args, arrays)
    dual = TRANSFORMS.dual_levels > 0 and TRANSFORMS.has_tangents(tensors)
    node = None
    if not is_wanted(op, tensors, level):
        pass_on_cut(op, tensors, outputs, False)
    else:
        node = record(op, args, tensors, outputs, half, level, dual)
    if dual:  # with the history of the outputs, before they are saved
        TRANSFORMS.set_tangents(op, args, tensors, outputs)
    if node is not None:
        fill_outputs(op, node, outputs)
        if STATE.scope is not None:
            STATE.scope.made(node, args)
    if op.view is not None:
        link_outputs(op, args, tensors[0], outputs)
    if STATE.inference:
        for output in outputs:
            if output._view is None:
                mark_inference(output)
    return package(op, outputs)


def package(op: Op, outputs: list[Tensor]) -> tuple[Tensor, ...] | Tensor:
    if op.outputs == 1:
        return outputs[0]
    return op.returns(*outputs) if op.returns is not None else tuple(outputs)


# --------------------------------------------------------------------------------- the kernel


def computed(
    op: Op,
    plan: CallPlan,
    args: tuple[object, ...],
    arrays: list[Any],
    targets: Sequence[object] = (),
    form: str = "",
) -> Computed:
    """The kernel's results as new tensors, or what modes give in its place; and the half type."""

    def run() -> Computed:
        results, half = run_kernel(op, plan, args, arrays)
        return [wrap(result) for result in results], half

    return through_modes(op, args, run, targets, form) if STATE.op_modes else run()


def run_kernel(
    op: Op, plan: CallPlan, args: tuple[object, ...], arrays: list[object]
) -> tuple[list[Array], dtypes.dtype | None]:
    """Run the kernel; the second result is the half type when float32 stood in for it."""
    half: dtypes.dtype | None = None
    asked = False
    backend, arrays = on_one_device(op, arrays)
    if op.check is not None:
        positional, keywords = _arguments(plan, args, arrays)
        try:
            op.check(*positional, **keywords)
        except Exception as error:  # but what does not broadcast comes first
            raise (op.elementwise and _broken(arrays)) or error from None
    token = enter_quiet(QUIET)
    try:
        mixed = op.promote and reads_mixed(op, arrays, backend)
        if op.promote and not mixed:
            arrays = promote_arrays(op, arrays, backend)
        operands = arrays  # as they lie in memory
        if mixed:
            pass  # the kernel reads each in its own type, and the result is in float32
        elif op.half == "move":
            if not plan.takes_any_dtype and half_of(arrays) is dtypes.complex32:
                half_complex.check_moves(op.name)
        else:
            half = half_of(arrays)
            asked = half is not None and _asks_for_wider(plan, args)
            widens = op.half == "compute" and op.name not in backend.halves
            if half is not None and (widens or half is dtypes.complex32):
                arrays = [widen(array) for array in arrays]
        positional, keywords = _arguments(plan, args, arrays)
        try:
            result = backend.kernel(op.name)(backend.xp, *positional, **keywords)
        except Exception as error:
            if half is dtypes.complex32 and not asked:
                half_complex.check(op.name, error)
            raise failure(arrays, error) from None
        if half is dtypes.complex32 and not asked:
            half_complex.check(op.name)
        results = [result] if op.outputs == 1 else list(result)
        rounds = half is not None and not asked
        for index, array in enumerate(results):
            if type(array) is not backend.array:
                results[index] = array = backend.as_result(array)
            if op.lies is not None:
                results[index] = array = settled(op, array, operands)
            # statistics that go along with a result stay as exact as they are
            if rounds and index not in op.nondifferentiable:
                results[index] = _rounded(array, half)  # type: ignore[arg-type]
        return results, half
    finally:
        leave_quiet(token)


def _rounded(array: Array, half: dtypes.dtype) -> Array:
    """A result that was computed in the wider type, in the type that it has."""
    if array.dtype is dtypes.F32:
        return array.astype(half.to_real().numpy)
    if array.dtype is dtypes.C64 and half is dtypes.complex32:
        return array.astype(half.numpy)
    return array


_WIDER = (dtypes.float32, dtypes.complex64)


def _asks_for_wider(plan: CallPlan, args: tuple[object, ...]) -> bool:
    """Whether the caller wants results of half precision in the type they are computed in."""
    place = plan.places.get("dtype")
    asked = None if place is None else args[place]
    return asked is not None and any([asked is d or asked is d.numpy for d in _WIDER])


def failure(operands: Sequence[object], error: Exception) -> Exception:
    """What to raise for an exception of a kernel: PyTorch's error where shapes do not broadcast."""
    if not isinstance(error, ValueError) or "broadcast" not in str(error):
        return errors.adopted(error)
    return _broken(operands) or error


def _broken(operands: Sequence[object]) -> Exception | None:
    """The error for operands whose shapes do not broadcast."""
    together: tuple[int, ...] = ()
    for operand in operands:
        if is_array(operand):
            try:
                together = np.broadcast_shapes(together, operand.shape)
            except ValueError:
                return errors.broadcast(together, operand.shape)
    return None


def settled(op: Op, result: Array, operands: Sequence[object]) -> Array:
    """A result in the memory order that PyTorch gives it."""
    if op.lies == "rows":
        return laid_along(result, range(result.ndim))
    if isinstance(op.lies, tuple):
        operands = [operands[op.plan.tensor_names.index(name)] for name in op.lies]
    return as_pytorch_lays(result, operands)


def _arguments(
    plan: CallPlan, args: tuple[object, ...], arrays: list[object]
) -> tuple[list[Any], dict[str, Any]]:
    """The call's arguments with arrays in place of tensors, as the kernel takes them."""
    if plan.only_tensors:
        return arrays, {}
    positional = list(args)
    for place, array in zip(plan.tensor_places, arrays, strict=True):
        positional[place] = array
    keywords: dict[str, Any] = {}
    for p in reversed(plan.keywords):  # they are the last parameters
        keywords[p.name] = positional.pop(p.place)
    return positional, keywords
