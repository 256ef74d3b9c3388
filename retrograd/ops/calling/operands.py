"""The operands of a call: which arguments are tensors, their arrays, and the type they share.

For the general path (`calling.dispatch`) and for those who look at a call as it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.backend import Backend, is_array
from retrograd.backend.device import ELEMENTWISE
from retrograd.backend.memory_order import converted
from retrograd.engine.state import STATE
from retrograd.engine.views import refresh, refresh_flag
from retrograd.ops import errors
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.kinds import Namespace
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor, wrap

_NUMBERS = (bool, int, float, complex)
ndarray = np.ndarray

# What a Python operator of a Tensor takes beside it; to anything else it answers NotImplemented.
NUMBERS: tuple[type[Any], ...] = (int, float, complex, np.generic)
OPERANDS: tuple[type[Any], ...] = (Tensor, *NUMBERS, ndarray)


def operands_of(op: Op, plan: CallPlan, args: tuple[object, ...], operator: bool) -> Any:
    """The tensor arguments (Tensor, number or None each; lists flattened) and their arrays."""
    if STATE.op_watcher is not None:
        STATE.op_watcher(op, args)
    tensors: list[Any] = []
    arrays: list[Any] = []
    found = False  # a Tensor
    follow = refresh if plan.edge_names else refresh_flag
    for p in plan.tensors:
        value = args[p.place]
        if p.is_list:
            items = _check_list(op, p.name, p.place + 1, value)
            tensors.extend(items)
            arrays.append([item._array for item in items])
            found = found or bool(items)
            continue
        if isinstance(value, Tensor):
            if value._view is not None:
                follow(value)
            array: Any = value._array
            found = True
        elif value is None and p.may_be_none:
            array = None
        elif p.may_be_number and isinstance(value, _NUMBERS):
            array = value
        elif p.may_be_number and isinstance(value, np.generic):
            array = value = value.item()
        elif p.may_be_number and isinstance(value, ndarray):
            value = wrap(np.asarray(value, dtypes.from_numpy_dtype(value.dtype).numpy))
            array = value._array
            found = True
        elif operator:
            return None
        else:
            raise errors.argument_type(op.label, p.name, p.place + 1, "Tensor", value)
        tensors.append(value)
        arrays.append(array)
    if tensors and not found:
        if operator:
            return None
        if "alone" in op.numbers and isinstance(args[0], _NUMBERS):
            # the first becomes a tensor of its own kind, and the other stays a number beside it
            kind = dtypes.result_dtype([args[0]])
            tensors[0] = wrap(np.asarray(args[0], kind.numpy))
            arrays[0] = tensors[0]._array
            return tensors, arrays
        raise errors.argument_type(op.label, plan.tensor_names[0], 1, "Tensor", args[0])
    return tensors, arrays


def _check_list(op: Op, name: str, position: int, value: object) -> list[Tensor]:
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


def level_of(tensors: list[Any]) -> int:
    """The innermost vmap call that an argument belongs to; 0 where all are ordinary tensors."""
    found = 0
    for x in tensors:
        if isinstance(x, Tensor) and x._level > found:
            found = x._level
    return found


# ------------------------------------------------------------------------------------- promotion


_MIXED = (dtypes.F32, *dtypes.HALF_TYPES)


def reads_mixed(op: Op, arrays: list[Any], backend: Backend) -> bool:
    """Whether a kernel takes half precision beside float32, for a result in float32."""
    if op.name not in backend.halves or op.half == "move" or op.name not in ELEMENTWISE:
        return False
    wide = half = False
    for array in arrays:
        if type(array) is backend.array:
            # a tensor without dimensions does not make the result wider
            if not array.ndim or array.dtype not in _MIXED:
                return False
            wide |= array.dtype is dtypes.F32
            half |= array.dtype is not dtypes.F32
        elif type(array) is not float and type(array) is not int and array is not None:
            return False
    return wide and half


def promote_arrays(op: Op, arrays: list[Any], backend: Backend) -> list[Any]:
    """Cast all operands to the type PyTorch's promotion gives them together."""
    common: Any = getattr(arrays[0], "dtype", None)
    for array in arrays:
        if type(array) is not backend.array or array.dtype is not common:
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
    xp = backend.xp
    # a kernel that is written for the call takes a number as it is, and computes in float32
    written = backend.fused is not None and op.name in ELEMENTWISE and op.name in backend.halves
    written = written and target.category == dtypes.FLOAT
    found = [
        array if written and type(array) in (int, float) else _cast(array, target, xp)
        for array in arrays
    ]
    exact = target.numpy in dtypes.HALF_TYPES and "exact" in op.numbers
    if exact and getattr(found[1], "ndim", 1) == 0:  # most round it to their own precision first
        found[1] = xp.asarray(arrays[1]).astype(dtypes.F32)
    return found


def _cast(value: Any, target: dtypes.dtype, xp: Namespace) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_cast(item, target, xp) for item in value]
    if is_array(value):
        return value if value.dtype is target.numpy else converted(value, target.numpy)
    # a number: with integers it wraps around as PyTorch's does
    if target.category <= dtypes.INTEGER:
        return xp.asarray(value).astype(target.numpy)
    number = xp.asarray(value, dtypes.F64 if target.category == dtypes.FLOAT else dtypes.C128)
    if target.numpy in dtypes.HALF_TYPES:
        number = number.astype(dtypes.F32)  # and rounded twice, as there
    return number.astype(target.numpy)


def half_of(arrays: list[Any]) -> dtypes.dtype | None:
    for value in arrays:
        if is_array(value):
            if value.dtype.itemsize <= 4 and value.dtype in dtypes.WIDER:
                return dtypes.from_numpy_dtype(value.dtype)
        elif isinstance(value, list):
            found = half_of(value)
            if found is not None:
                return found
    return None


def widen(value: object) -> Any:
    if isinstance(value, list):
        return [widen(item) for item in value]
    if is_array(value) and value.dtype in dtypes.WIDER:
        return converted(value, dtypes.WIDER[value.dtype])
    return value
