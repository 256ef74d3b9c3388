"""Views with any strides over a tensor's storage, and their gradients.

An op that names places in the storage is written with two geometries, the input's and the
result's, both counted in elements from the input's first one. Places that both show get gradients;
a place shown several times gets their sum.
"""

from __future__ import annotations

from typing import Any

from retrograd.backend import backend_of
from retrograd.dtypes import I64
from retrograd.ops.kinds import Array, DType, Ints, Namespace
from retrograd.ops.making.memory import address_of
from retrograd.ops.registry import RECORDED, composite, inner_op, op
from retrograd.ops.sizes import Shape, as_integers, require_tensor, storage_of
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor


def _extent(shape: Shape, strides: Shape) -> int:
    """How many elements of storage a geometry reaches over."""
    if 0 in shape:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def _places(xp: Namespace, shape: Shape, strides: Shape, start: int) -> Array:
    """The place in storage of every element of a geometry."""
    places: Array = xp.full(shape, start, I64)
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = xp.arange(size) * stride
        places += steps.reshape((size,) + (1,) * (len(shape) - dim - 1))
    return places


def _in_elements(strides: Shape, dtype: DType) -> Shape:
    return tuple(stride // dtype.itemsize for stride in strides)


def _storage_bytes(array: Array) -> int:
    """The bytes of memory that an owning array spans."""
    if not array.size:
        return 0
    steps = zip(array.shape, array.strides, strict=True)
    return int(array.itemsize + sum((size - 1) * stride for size, stride in steps))


@inner_op(
    input=lambda m, g, input_shape, input_strides, input_dtype, size, stride, shift: (
        m._as_strided_gradient(
            g, input_shape, _in_elements(input_strides, input_dtype), size, stride, shift
        )
    ),
    view="always",
    saved_names={"storage_offset": "shift"},
)
def as_strided(xp: Namespace, input: Array, size: Shape, stride: Shape, shift: int) -> Array:
    """A view with any geometry that starts `shift` elements after the input's first element."""
    storage = storage_of(input)
    unit = input.itemsize
    start = address_of(input) - address_of(storage) + shift * unit
    available = _storage_bytes(storage)
    needed = start + _extent(size, stride) * unit
    if start < 0 or (needed > available and 0 not in size):
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
            f"{start // unit}, and itemsize {unit} requiring a storage size of {needed} are out of "
            f"bounds for storage of size {available}"
        )
    if 0 in size:
        return xp.empty(size, input.dtype)
    # `is`: NumPy gives unpickled arrays a dtype object of their own, which no kernel knows
    if not storage.flags.forc or storage.dtype is not input.dtype:
        count = available // storage.itemsize
        storage = xp.strided(storage, (count,), (storage.itemsize,)).view(input.dtype)
    return xp.strided(storage, size, tuple(step * unit for step in stride), start)


class _Geometry:
    """Places of two geometries in one stretch of storage."""

    def __init__(
        self, xp: Namespace, shape: Shape, strides: Shape, size: Shape, stride: Shape, shift: int
    ) -> None:
        low = min(0, shift)
        self.count = max(_extent(shape, strides), shift + _extent(size, stride)) - low
        self.input = _places(xp, shape, strides, -low)
        self.result = _places(xp, size, stride, shift - low)

    def shared(self, xp: Namespace) -> Array | None:
        """How often each place is shown by the input, if any is shown more than once."""
        shown: Array = xp.bincount(self.input.reshape(-1), minlength=self.count)
        return xp.maximum(shown, 1) if (shown > 1).any() else None


def _moved(xp: Namespace, array: Array, geometry: _Geometry, source: Array, target: Array) -> Array:
    """Add `array` into storage at the places `source`, then read it at the places `target`."""
    storage: Array = xp.zeros(geometry.count, array.dtype)
    xp.add_at(storage, source.reshape(-1), array.reshape(-1))
    shared = geometry.shared(xp)
    if shared is not None:
        storage /= shared  # copies of one place share its gradient
    return storage[target]


@op(
    gradient=lambda m, g, shape, strides, size, stride, shift: m._as_strided_read(
        g, shape, strides, size, stride, shift
    ),
    holomorphic=False,
    forward="linear",
    event="retrograd::as_strided_gradient",
)
def _as_strided_gradient(
    xp: Namespace,
    gradient: Array,
    shape: Shape,
    strides: Shape,
    size: Shape,
    stride: Shape,
    shift: int,
) -> Array:
    """From the gradient of the result to that of the input."""
    geometry = _Geometry(xp, shape, strides, size, stride, shift)
    return _moved(xp, gradient, geometry, geometry.result, geometry.input)


@op(
    input=lambda m, g, shape, strides, size, stride, shift: m._as_strided_gradient(
        g, shape, strides, size, stride, shift
    ),
    holomorphic=False,
    node_name="AsStridedBackward0",
    forward="linear",
    saved_names={"storage_offset": "shift", "stride": "strides"},
)
def _as_strided_read(
    xp: Namespace,
    input: Array,
    shape: Shape,
    strides: Shape,
    size: Shape,
    stride: Shape,
    shift: int,
) -> Array:
    """`as_strided` of a tensor laid out in a given geometry, whatever its own is."""
    geometry = _Geometry(xp, shape, strides, size, stride, shift)
    return _moved(xp, input, geometry, geometry.input, geometry.result)


@op(
    input=lambda m, g, src_shape, strides, size, stride, shift: m._as_strided_write(
        g, m._zeros(g, src_shape), strides, size, stride, shift
    ),
    src=lambda m, g, input_shape, strides, size, stride, shift: m._as_strided_read(
        g, input_shape, strides, size, stride, shift
    ),
    moves=True,
    node_name="AsStridedScatterBackward0",
    saved_names={"storage_offset": "shift", "stride": "strides"},
)
def _as_strided_write(
    xp: Namespace, input: Array, src: Array, strides: Shape, size: Shape, stride: Shape, shift: int
) -> Array:
    """A copy of a tensor laid out with `strides`, with `src` written over the region."""
    if src.shape != size:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(size)}"
        )
    geometry = _Geometry(xp, input.shape, strides, size, stride, shift)
    storage: Array = xp.zeros(geometry.count, input.dtype)
    storage[geometry.input] = input
    storage[geometry.result] = src
    result: Array = xp.empty_like(input)
    result[...] = storage[geometry.input]
    return result


# --------------------------------------------------------------------------- public functions


def region_arguments(
    name: str, input: Tensor, size: Ints, stride: Ints | None, offset: Any
) -> tuple[Any, ...]:
    """Checked size, stride and shift of a region of the tensor's storage."""
    wanted = as_integers(name, "size", 2, size)
    steps = as_integers(name, "stride", 3, stride)
    if len(wanted) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if any(step < 0 for step in steps):
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: "
            f"{list(steps)}"
        )
    if any(n < 0 for n in wanted):
        raise RuntimeError(
            f"Storage size calculation overflowed with sizes={list(wanted)} and "
            f"strides={list(steps)}"
        )
    if offset is None:
        return wanted, steps, 0
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    array = input._array
    own = address_of(array) - address_of(storage_of(array))
    return wanted, steps, offset - own // array.itemsize


_SAMPLES = (
    Sample(T(3, 4), (2, 3), (4, 1), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
    Sample(T(12), (3, 2), (2, 3), 1),
    Sample(T(6), (3, 3), (1, 1)),
    Sample(T(6), (2,), (0,)),
    Sample(T(6), (), (), 3),
    Sample(T(6), (0, 2), (1, 1)),
    Sample(T(), (2,), (0,)),
    Sample(T(6), (3, 3), (3, 1)),
    Sample(T(6), (3, 3), (1,)),
    Sample(T(6), (3,), (-1,)),
    Sample(T(6), (-3,), (1,)),
    Sample(T(6), (3,), (1,), -1),
)


@composite(samples=lambda: list(_SAMPLES))
def _as_strided(
    input: Tensor, size: Ints, stride: Ints | None, storage_offset: int | None = None
) -> Tensor:
    """A view of the tensor's storage with any sizes and strides (in elements).

    >>> torch.arange(6).as_strided((2, 2), (3, 1))
    tensor([[0, 1],
            [3, 4]])
    """
    require_tensor("as_strided", input)
    region = region_arguments("as_strided", input, size, stride, storage_offset)
    return RECORDED.as_strided(input, *region)


@composite(
    samples=lambda: [
        # no gradient for the input: PyTorch's is wrong (it keeps the region instead of the rest)
        Sample(T(3, 4, grad=False), T(2, 3), (2, 3), (4, 1), dtypes=("float32",)),
        Sample(T(6, grad=False), T(3), (3,), (2,), 1, dtypes=("float32",)),
        Sample(T(6, grad=False), T(2), (3,), (2,)),
    ]
)
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Ints, stride: Ints | None, storage_offset: int | None = None
) -> Tensor:
    """A copy with the region that `as_strided` shows replaced by `src`."""
    require_tensor("as_strided_scatter", input)
    require_tensor("as_strided_scatter", src, "src", 2)
    region = region_arguments("as_strided_scatter", input, size, stride, storage_offset)
    array = input._array
    if input._level or src._level:
        raise RuntimeError(
            "Error: aten::as_strided_scatter requires special handling, and does not yet have a "
            "batching rule. Feel free to file a github issue!"
        )
    backend_of(array).raw.as_strided(array, *region)  # refuses what lies outside the storage
    strides = _in_elements(array.strides, array.dtype)
    return RECORDED._as_strided_write(input, src, strides, *region)
