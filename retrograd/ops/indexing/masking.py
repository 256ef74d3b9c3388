"""Masks: masked_fill, masked_select, masked_scatter; and nonzero, from a mask to indices."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.backend import CPU, can_write, xp_of
from retrograd.engine.state import STATE, STRICT, TRANSFORMS
from retrograd.engine.views import bump, check_not_expanded
from retrograd.ops import errors
from retrograd.ops.kinds import Array, DType, Namespace
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import OPS, RECORDED, Table, composite, inner_op, method_only, op
from retrograd.ops.shapes.copying import cast_array
from retrograd.ops.sizes import broadcast_shapes
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor

# C++ names of element types, as PyTorch's messages print them
_C_NAMES = {
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "uint8": "unsigned char",
    "bool": "bool",
}


# --------------------------------------------------------------------- what the topic shares


def fill_value(xp: Namespace, value: complex, dtype: DType) -> Array:
    """A number as an element of a dtype; numbers that the type cannot hold are refused.

    >>> fill_value(CPU.xp, 2.7, dtypes.I64)
    array(2)
    """
    if type(value) is float and (dtype is dtypes.F64 or -1.0 <= value <= 1.0):
        if dtype is dtypes.F64 or dtype is dtypes.F32:
            return xp.asarray(value, dtype)
    if isinstance(value, CPU.relatives):
        value = value.item()
    return xp.asarray(as_element(value, dtypes.from_numpy_dtype(dtype))).astype(dtype)


def is_unrecorded(target: Tensor, *sources: object) -> bool:
    """Whether a write into `target` leaves no history behind, in any mode or storage."""
    if TRANSFORMS.active:  # a batch or a tangent may have to hear of it
        return False
    if (
        STATE.inference
        or STATE.mutation is not None  # wants to hear of writes before they happen, as
        or STRICT.enabled  # strict mode does
        or (target._meta is not None and target._meta.inference)
    ):
        return False
    if target._requires_grad or (target._view is not None and target._view.base._requires_grad):
        if STATE.grad_enabled:
            return False
    cell = target._cell
    for source in sources:
        if isinstance(source, Tensor):
            shares = cell is not None and source._cell is cell
            if source is target or shares or source._requires_grad or source._cut is not None:
                return False
            if source._view is not None and source._view.base._requires_grad:
                return False
    return True


def can_write_directly(target: Tensor, *sources: object) -> bool:
    """Whether an in-place op may write into the array itself, since it needs no history.

    The general path computes a new array and copies it over; a write of a few places into a
    large tensor should cost those places only.
    """
    if not is_unrecorded(target, *sources):
        return False
    array = target._array
    if not can_write(array) or 0 in array.strides:
        check_not_expanded(target)
    return True


# ---------------------------------------------------------------------------------- masked_fill


def _check_mask(name: str, mask: Array) -> None:
    if mask.dtype is not dtypes.B8:
        kind = _C_NAMES[dtypes.from_numpy_dtype(mask.dtype).name]
        raise errors.runtime_error(
            f"{name} only supports boolean masks, but got mask with dtype {kind}", code="RG304"
        )


def _broadcast(mask: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape of a mask and an input."""
    if mask.shape == shape:
        return shape
    try:
        return broadcast_shapes(mask.shape, shape)
    except ValueError:
        raise errors.broadcast(mask.shape, shape) from None


@inner_op(
    input=lambda m, g, mask: m.masked_fill(g, mask, 0),
    half="move",
    holomorphic=False,
    inplace=True,
    elementwise=True,
    aten="masked_fill.Scalar",
    lies="rows",
)
def masked_fill(xp: Namespace, input: Array, mask: Array, value: complex) -> Array:
    """`input` with `value`, a number, where `mask` is true."""
    _check_mask("masked_fill_", mask)
    _broadcast(mask, input.shape)
    return xp.where(mask, fill_value(xp, value, input.dtype), input)


def _total_where(m: Table, g: Tensor, mask: Tensor) -> Tensor:
    """The sum of the elements where `mask` is true."""
    if TRANSFORMS.active:  # the mask may be batched: other places for each example
        return m.sum(m.masked_fill(g, m.logical_not(mask), 0))
    return m.sum(m.masked_select(g, mask))


@op(
    input=lambda m, g, mask: m.masked_fill(g, mask, 0),
    value=_total_where,
    moves=True,
    inplace="_masked_fill_tensor_",
    node_name="MaskedFillBackward1",
    aten="masked_fill",
    aten_inplace="masked_fill_.Tensor",
    lies="rows",
)
def _masked_fill_tensor(xp: Namespace, input: Array, mask: Array, value: Array) -> Array:
    """`input` with the element of a 0-d tensor where `mask` is true."""
    if value.ndim:
        raise RuntimeError(
            "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    _check_mask("masked_fill_", mask)
    _broadcast(mask, input.shape)
    return xp.where(mask, _cast_scalar(value, input.dtype), input)


def _cast_scalar(value: Array, numpy_type: DType) -> Array:
    if value.dtype.kind == "c" and numpy_type not in dtypes.COMPLEX_TYPES:
        source, target = (dtypes.from_numpy_dtype(d).type_name for d in (value.dtype, numpy_type))
        raise errors.runtime_error(
            f"result type {source} can't be cast to the desired output type {target}", code="RG303"
        )
    return cast_array(value, numpy_type)


def _fill_samples() -> list[Sample]:
    everything = (*FLOATS, *HALVES, *COMPLEX)
    mask = T(3, 4, dtype="bool")
    return [
        Sample(T(3, 4), mask, 2.5, dtypes=everything),
        Sample(T(3, 4), T(4, dtype="bool"), -1, dtypes=everything),
        Sample(T(4), mask, float("-inf")),
        Sample(T(), T(dtype="bool"), 1.0),
        Sample(T(), T(3, dtype="bool"), 1.0),
        Sample(T(0, 3), T(3, dtype="bool"), 1.0),
        Sample(T(3, 4), mask, T(), dtypes=everything),
        Sample(T(3, 4), mask, T(dtype="int64")),
        Sample(T(3, 4), T(4, dtype="bool"), T(grad=False)),
        Sample(T(3, 4, dtype="int64"), mask, 2.7, grad=False),
        Sample(T(3, 4, dtype="int64"), mask, T(dtype="float64"), grad=False),
        Sample(T(3, 4, dtype="bool"), mask, 3, grad=False),
        Sample(T(3, 4, dtype="uint8"), mask, -3, grad=False),
        Sample(T(3, 4, dtype="uint8"), mask, -300, grad=False),
        Sample(T(3, 4, dtype="int32"), mask, 2**40, grad=False),
        Sample(T(3, 4, dtype="float32"), mask, 1e300, grad=False),
        Sample(T(3, 4), mask, 1j),
        Sample(T(3, 4), T(3, dtype="bool"), 1.0),
        Sample(T(3, 4), T(3, 4, dtype="float32"), 1.0),
        Sample(T(3, 4), mask, T(1)),
    ]


@composite(samples=_fill_samples)
def _masked_fill(input: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    """A copy of `input` with `value` where `mask` is true.

    >>> torch.tensor([1.0, 2.0]).masked_fill(torch.tensor([True, False]), 0)
    tensor([0., 2.])
    """
    if isinstance(value, Tensor):
        result: Tensor = RECORDED._masked_fill_tensor(input, mask, value)
    else:
        result = RECORDED.masked_fill(input, mask, value)
    return result


@method_only()
def _masked_fill_(self: Tensor, mask: Tensor, value: Tensor | complex) -> Tensor:
    """Write `value` where `mask` is true."""
    if isinstance(mask, Tensor):
        array, where = self._array, mask._array
        if where.shape != array.shape:
            _check_covers(where, array.shape)
        if not isinstance(value, Tensor) and can_write_directly(self, mask):
            _check_mask("masked_fill_", where)
            xp = xp_of(array)
            array[xp.broadcast_to(where, array.shape)] = fill_value(xp, value, array.dtype)
            bump(self, "masked_fill_")
            return self
    name = "_masked_fill_tensor" if isinstance(value, Tensor) else "masked_fill"
    return OPS[name].in_place(self, mask, value)


def _check_covers(mask: Array, shape: tuple[int, ...]) -> None:
    """In place a mask may be broadcast, but the written tensor may not."""
    try:
        together = broadcast_shapes(shape, mask.shape)
    except ValueError:
        raise errors.broadcast(shape, mask.shape) from None
    if together != shape:
        raise errors.output_shape(shape, together)


# ------------------------------------------------------------- masked_select, masked_scatter


@op(
    # PyTorch keeps the input too, though only its shape is read
    input=lambda m, g, input, mask: m._masked_put(g, mask, tuple(input.shape)),
    moves=True,
    out="masked_select(): self and result must have the same scalar type",
    samples=lambda: [
        Sample(T(3, 4), T(3, 4, dtype="bool"), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(3, 4), T(4, dtype="bool")),
        Sample(T(4), T(3, 4, dtype="bool")),
        Sample(T(3, 1), T(4, dtype="bool")),
        Sample(T(), T(dtype="bool")),
        Sample(T(), T(values=[True, True], dtype="bool")),
        Sample(T(0, 3), T(3, dtype="bool")),
        Sample(T(3), T(values=[False] * 3, dtype="bool")),
        Sample(T(3, 4, dtype="int64"), T(4, dtype="bool"), grad=False),
        Sample(T(3, 4), T(3, dtype="bool")),
        Sample(T(3, 4), T(3, 4, dtype="uint8", low=0)),
    ],
)
def masked_select(xp: Namespace, input: Array, mask: Array) -> Array:
    """The elements where `mask` is true, in one dimension; both broadcast."""
    if mask.dtype is not dtypes.B8:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    shape = _broadcast(mask, input.shape)
    return xp.broadcast_to(input, shape)[xp.broadcast_to(mask, shape)]


@op(
    values=lambda m, g, mask, values_shape: m._masked_take(g, mask, values_shape),
    moves=True,
    node_name="MaskedScatterBackward0",
)
def _masked_put(xp: Namespace, values: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """Zeros with the first of `values` in the places of a mask that broadcasts with `shape`."""
    common = broadcast_shapes(mask.shape, shape)
    result = xp.zeros(common, values.dtype)
    places = xp.broadcast_to(mask, common)
    result[places] = values.reshape(-1)[: int(xp.count_nonzero(places))]
    return result


@op(
    input=lambda m, g, mask, input_shape: m._masked_put(g, mask, input_shape),
    moves=True,
    node_name="MaskedScatterBackwardBackward0",
)
def _masked_take(xp: Namespace, input: Array, mask: Array, shape: tuple[int, ...]) -> Array:
    """The elements in the places of a mask, with zeros behind them up to `shape`."""
    result = xp.zeros(shape, input.dtype)
    found = input[xp.broadcast_to(mask, input.shape)]
    result.reshape(-1)[: found.size] = found
    return result


@op(
    input=lambda m, g, mask: m.masked_fill(g, mask, 0),
    source=lambda m, g, mask, source_shape: m._masked_take(g, mask, source_shape),
    moves=True,
    lies="rows",
    inplace=True,
    samples=lambda: [
        Sample(T(3, 4), T(3, 4, dtype="bool"), T(12), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(3, 4), T(4, dtype="bool"), T(3, 5)),
        Sample(T(4), T(3, 4, dtype="bool"), T(20)),
        Sample(T(3, 1), T(4, dtype="bool"), T(12)),
        Sample(T(), T(dtype="bool"), T()),
        Sample(T(0), T(0, dtype="bool"), T(0)),
        Sample(T(3, dtype="int64"), T(3, dtype="bool"), T(3, dtype="int64"), grad=False),
        Sample(T(3), T(values=[True] * 3, dtype="bool"), T(2)),
        Sample(T(3), T(3, dtype="float32"), T(3)),
        Sample(T(3), T(3, dtype="bool"), T(3, dtype="float16")),
        Sample(T(3, 4), T(3, dtype="bool"), T(12)),
    ],
)
def masked_scatter(xp: Namespace, input: Array, mask: Array, source: Array) -> Array:
    """A copy of `input` with the elements of `source`, in order, where `mask` is true."""
    if input.dtype is not source.dtype:
        ours, theirs = (dtypes.from_numpy_dtype(a.dtype).type_name for a in (input, source))
        raise errors.runtime_error(
            f"masked_scatter: expected self and source to have same dtypes but got{ours} and "
            f"{theirs}",
            code="RG301",
        )
    if mask.dtype is not dtypes.B8:
        raise errors.runtime_error(
            "masked_scatter_ only supports boolean masks, but got mask with dtype "
            f"{dtypes.from_numpy_dtype(mask.dtype).type_name}",
            code="RG304",
        )
    shape = _broadcast(mask, input.shape)
    places = xp.broadcast_to(mask, shape)
    count = int(xp.count_nonzero(places))
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    result = xp.array(xp.broadcast_to(input, shape))
    result[places] = source.reshape(-1)[:count]
    return result


# -------------------------------------------------------------------------------------- nonzero


@inner_op(
    half="move",
    out="nonzero: Expected out tensor to have scalar type Long but got scalar type{out}",
)
def nonzero(xp: Namespace, input: Array) -> Array:
    """The index of every element that is not zero: one row each."""
    if input.ndim == 0:
        return xp.zeros((int(bool(input)), 0), dtypes.I64)
    return xp.stack(xp.nonzero(input), 1)


def _nonzero_samples() -> list[Sample]:
    shapes = ((4,), (3, 4), (2, 3, 2), (), (0,), (2, 0))
    found = [
        Sample(T(*shape, dtype="bool"), as_tuple=way) for shape in shapes for way in (False, True)
    ]
    for kind in ("int64", "float32", "float64", "complex64", "uint8", "float16", "bfloat16"):
        found.append(Sample(T(3, 4, dtype=kind, low=-1, high=1), grad=False))
    return [*found, Sample(T(values=[0.0, float("nan"), -0.0, float("inf")], grad=False))]


@composite(samples=_nonzero_samples)
@forms(
    "(input: Tensor, *, out: Tensor | None = None, as_tuple: Literal[False] = False) -> Tensor",
    "(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]",
)
def _nonzero(
    input: Tensor, *, out: Tensor | None = None, as_tuple: bool = False
) -> tuple[Tensor, ...] | Tensor:
    """Indices of the elements that are not zero: a row each, or with `as_tuple` a tensor per dim.

    >>> torch.tensor([0, 5, 6]).nonzero()
    tensor([[1],
            [2]])
    """
    if not as_tuple:
        return RECORDED.nonzero(input, out=out)
    if out is not None:
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    rows = RECORDED.nonzero(input if input._array.ndim else input.reshape(1))
    return tuple(rows.unbind(1))


@composite(samples=lambda: [Sample(T(3, 4, dtype="bool")), Sample(T(dtype="bool"))])
def argwhere(input: Tensor) -> Tensor:
    """The index of every element that is not zero, one row each.

    >>> torch.argwhere(torch.tensor([0, 5]))
    tensor([[1]])
    """
    return RECORDED.nonzero(input)
