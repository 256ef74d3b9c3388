"""Copies: clone, copy_, fill_, zero_ and conversion between dtypes."""

from __future__ import annotations

from typing import Any

from retrograd import core, dtypes
from retrograd.backend import CPU, apart, backend_of, can_write
from retrograd.backend.device import Backend
from retrograd.backend.quiet import quiet
from retrograd.engine import sparse_array
from retrograd.engine.sparse_array import SPARSE_ARRAY
from retrograd.engine.state import STATE, TRANSFORMS
from retrograd.engine.views import (
    announce_write,
    bump,
    check_elements,
    check_history,
    check_operand_view,
    check_overlap,
    check_writable,
)
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Namespace, Operand
from retrograd.ops.making.arguments import as_element
from retrograd.ops.making.memory import array_like, in_format
from retrograd.ops.registry import (
    OPS,
    RECORDED,
    attach,
    composite,
    function_only,
    inner_op,
    method_only,
    op,
)
from retrograd.ops.sizes import broadcast_shapes
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import memory_format, preserve_format


@inner_op(
    input=lambda m, g: g, half="move", forward="linear", elementwise=True, leaves_inference=True
)
def clone(xp: Namespace, input: Array) -> Array:
    """A copy in the same memory order."""
    if input.flags.c_contiguous:
        return input.copy()
    result = array_like(input, input.dtype)
    xp.copyto(result, input)
    return result


@op(
    input=lambda m, g, order: g,  # with the order the op can be called again
    saved_names={"": "order"},
    half="move",
    forward="linear",
    aten="clone",
)
def _clone_as(xp: Namespace, input: Array, order: memory_format) -> Array:
    return in_format(input, order)


@composite(samples=lambda: [Sample(T(3, 4)), Sample(T())])
def _clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A copy of the elements that stays in the graph.

    >>> x = torch.ones(2, requires_grad=True)
    >>> x.clone()
    tensor([1., 1.], grad_fn=<CloneBackward0>)
    """
    if memory_format is None or memory_format is preserve_format:
        result: Tensor = RECORDED.clone(input)
    else:
        result = RECORDED._clone_as(input, memory_format)
    return result


@op(input=lambda m, g: g, holomorphic=True, view="always", aten="alias")
def _alias(xp: Namespace, input: Array) -> Array:
    """The same elements as another tensor."""
    return input.view()


# --------------------------------------------------------------------------------------- dtypes


def cast_array(array: Array, dtype: DType) -> Array:
    """A fresh array in another dtype, by PyTorch's rules where C leaves the result open.

    A real target takes the real part; uint8 the low bits of the whole number.
    """
    if array.dtype is dtypes.C32 or dtype is dtypes.C32:
        array = array.astype(dtypes.C64)
    source = array.dtype.kind
    if loses_parts(array.dtype, dtype):
        array = array.real
    with quiet():
        if dtype is dtypes.U8 and source not in "biu":
            array = array.astype(dtypes.I64)
        if array.flags.c_contiguous:
            return array.astype(dtype)
        result = array_like(array, dtype)
        backend_of(array).xp.copy_into(result, array)
        return result


@op(
    input=lambda m, g, input_dtype: m._to_dtype(g, input_dtype),
    moves=True,
    fast=False,
    leaves_inference=True,
    aten="_to_copy",
)
def _to_dtype(
    xp: Namespace, input: Array, dtype: DType, order: memory_format | None = None
) -> Array:
    """The elements in another dtype (a NumPy dtype) and, if asked, another memory format."""
    result = cast_array(input, dtype)
    return result if order is None else in_format(result, order)


@op(
    input=lambda m, g, source, target: m._to_device(g, target, source, False),
    moves=True,
    node_name="ToCopyBackward0",
    fast=False,
)
def _to_device(
    xp: Namespace, input: Array, source: Backend, target: Backend, non_blocking: bool
) -> Array:
    """The elements on another device: the backends of where they are and where they go."""
    there = source.to_numpy(input, non_blocking=non_blocking)
    moved: Array = target.from_numpy(there, non_blocking=non_blocking)
    return moved


# -------------------------------------------------------------------------------------- writing


def _is_recorded(target: Tensor, other: Tensor | None = None) -> bool:
    """Whether a write must leave a node, or reach a whole batch."""
    if TRANSFORMS.active:
        return True
    if not STATE.grad_enabled:
        return False
    return target.requires_grad or (other is not None and other.requires_grad)


@op(
    input=lambda m, g: m.zeros_like(g),
    src=lambda m, g: g,
    half="move",
    inplace="copy_",
    node_name="CopyBackwards",
    forward="linear",
    aten="copy",
)
def _copy(xp: Namespace, input: Array, src: Array) -> Array:
    """`src` in the shape and dtype of `input`."""
    return xp.array(xp.broadcast_to(cast_array(src, input.dtype), input.shape))


_copy_recorded = OPS["_copy"].in_place


@method_only()
@core.shortcut("copy")
def _copy_(self: Tensor, other: Tensor | complex, non_blocking: bool = False) -> Tensor:
    """Write the elements of `other`, broadcast and converted, into this tensor.

    >>> torch.zeros(2, dtype=torch.int64).copy_(torch.tensor([1.5, 2.5]))
    tensor([1, 2])
    """
    if isinstance(other, (bool, int, float, complex)):
        other = wrap(backend_of(self._array).xp.asarray(other))
    elif not isinstance(other, Tensor):
        raise errors.argument_type("copy_", "other", 1, "Tensor", other)
    if type(self._array) is SPARSE_ARRAY or type(other._array) is SPARSE_ARRAY:
        return sparse_array.copy(self, other)
    if type(other._array) is not type(self._array):
        other = _beside(self, other, non_blocking)
    check_history(self, "copy_")
    recorded = _is_recorded(self, other)
    if STATE.grad_enabled and other.requires_grad and not self.requires_grad:
        check_operand_view(self, "copy_")
    check_elements(self)
    check_overlap(self, (other,))
    target, source = self._array, other._array
    if source.shape != target.shape:
        _check_expands(source.shape, target.shape)
    if loses_parts(source.dtype, target.dtype) and target.size:
        warn_complex_cast()
    if recorded:
        return _copy_recorded(self, other)
    target[...] = source if source.dtype is target.dtype else cast_array(source, target.dtype)
    bump(self, "copy_")
    self._cut = STATE.cut if other._requires_grad else other._cut
    return self


def _beside(target: Tensor, source: Tensor, non_blocking: bool) -> Tensor:
    """`source` on the device of `target`, recorded."""
    places = apart(target._array, source._array)
    if places is None:
        return source
    here, there = places
    moved: Tensor = OPS["_to_device"].function(source, there, here, non_blocking)
    return moved


def loses_parts(source: DType, target: DType) -> bool:
    """Whether a cast drops imaginary parts."""
    real = target not in dtypes.COMPLEX_TYPES and target is not dtypes.B8
    return real and source in dtypes.COMPLEX_TYPES


def warn_complex_cast() -> None:
    """Say that imaginary parts are lost."""
    warn_once("Casting complex values to real discards the imaginary part", user_level())


def _check_expands(source: tuple[int, ...], target: tuple[int, ...]) -> None:
    """A written value may be broadcast to its target, but not enlarge it."""
    try:
        together = broadcast_shapes(target, source)
    except ValueError:
        raise errors.broadcast(target, source) from None
    if together != target:
        raise errors.output_shape(target, together)


@op(
    input=lambda m, g: m.zeros_like(g),
    half="move",
    inplace="zero_",
    forward="linear",
    elementwise=True,
    aten="zero",
)
def _zero(xp: Namespace, input: Array) -> Array:
    """Zeros in the shape of `input`."""
    return xp.zeros_like(input)


_zero_recorded = OPS["_zero"].in_place


@composite(methods=("zero_",), samples=lambda: [Sample(T(2, 3), grad=False)])
@core.shortcut("zero")
def _zero_(input: Tensor) -> Tensor:
    """Write zeros into this tensor."""
    if _is_recorded(input):
        return _zero_recorded(input)
    if type(input._array) is SPARSE_ARRAY:
        return sparse_array.zero(input)
    _fill_directly(input, 0, "zero_")
    return input


def _fill_directly(target: Tensor, value: object, writer: str) -> None:
    array = target._array
    if 0 in array.strides:
        # elements that share memory may all be set to one value
        announce_write(target, writer)
        array = array[tuple(slice(0, 1) if step == 0 else slice(None) for step in array.strides)]
        if not can_write(array):
            array = array.view()
            array.flags.writeable = True  # raises if the memory itself may not be written
    else:
        check_writable(target, writer)
    array[...] = value
    bump(target, writer)


def _constant(xp: Namespace, input: Array, value: Operand) -> Array:
    result = xp.empty_like(input)
    result[...] = value
    return result


@op(input=lambda m, g: m.zeros_like(g), half="move", elementwise=True, aten="fill.Scalar")
def _fill_number(xp: Namespace, input: Array, value: complex) -> Array:
    return _constant(xp, input, value)


@op(
    input=lambda m, g: m.zeros_like(g),
    value=lambda m, g: m.sum(g),
    half="move",
    node_name="FillBackward1",
    aten="fill",
)
def _fill_tensor(xp: Namespace, input: Array, value: Array) -> Array:
    return _constant(xp, input, cast_array(value, input.dtype))


@op(
    input=lambda m, g: m.zeros_like(g),
    half="move",
    inplace="fill_",
    node_name="FillBackward2",
    elementwise=True,
    aten_inplace="fill_.Scalar",
)
def _fill_number_in_place(xp: Namespace, input: Array, value: complex) -> Array:
    return _constant(xp, input, value)


@op(
    input=lambda m, g: m.zeros_like(g),
    value=lambda m, g: m.sum(g),
    half="move",
    inplace="fill_",
    node_name="FillBackward3",
    aten_inplace="fill_.Tensor",
)
def _fill_tensor_in_place(xp: Namespace, input: Array, value: Array) -> Array:
    return _constant(xp, input, cast_array(value, input.dtype))


def _fill_value(function: str, input: Tensor, value: Tensor | complex) -> Any:
    """A tensor, or a number that fits the dtype of `input`."""
    if isinstance(value, Tensor):
        if value._array.ndim:
            raise RuntimeError(
                f"{function} only supports 0-dimension value tensor but got tensor with "
                f"{value._array.ndim} dimensions."
            )
        if loses_parts(value._array.dtype, input._array.dtype) and input._array.size:
            if function == "fill_":
                check_history(input, function)  # what is refused is not warned about
            warn_complex_cast()
        return value
    if isinstance(value, CPU.relatives):
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise TypeError(
            f"{function}() received an invalid combination of arguments - got "
            f"({type(value).__name__}), but expected one of:\n * (Tensor value)\n * (Number value)"
        )
    return as_element(value, input.dtype)


@function_only(samples=lambda: [Sample(T(2, 3), 2.5), Sample(T(3), T())])
def fill(input: Tensor, value: Tensor | complex) -> Tensor:
    """A tensor like `input` with one value everywhere."""
    number = _fill_value("fill", input, value)
    operation = RECORDED._fill_tensor if isinstance(number, Tensor) else RECORDED._fill_number
    return operation(input, number)


_fill_recorded = OPS["_fill_number_in_place"].in_place
_fill_recorded_tensor = OPS["_fill_tensor_in_place"].in_place


@composite(
    methods=("fill_",),
    samples=lambda: [Sample(T(2, 3), 2.5, grad=False), Sample(T(3), T(), grad=False)],
)
@core.shortcut("fill")
def fill_(input: Tensor, value: Tensor | complex) -> Tensor:
    """Write one value into every element.

    >>> torch.zeros(2).fill_(3)
    tensor([3., 3.])
    """
    number = _fill_value("fill_", input, value)
    if isinstance(number, Tensor):
        if _is_recorded(input, number):
            return _fill_recorded_tensor(input, number)
        number = cast_array(number._array, input._array.dtype)
    elif _is_recorded(input):
        return _fill_recorded(input, number)
    _fill_directly(input, number, "fill_")
    return input


# --------------------------------------------------------------------------------------- likes


@inner_op(half="move", elementwise=True)
def zeros_like(xp: Namespace, input: Array) -> Array:
    """Zeros in the shape, dtype and memory order of `input` (the op; creation has the function)."""
    return xp.zeros_like(input)


@inner_op(half="move", elementwise=True)
def ones_like(xp: Namespace, input: Array) -> Array:
    """Ones in the shape, dtype and memory order of `input`."""
    return xp.ones_like(input)


# methods of every tensor that are functions, too
for _name in ("detach", "detach_", "resize_as_"):
    attach(getattr(Tensor, _name), public=(_name,))
