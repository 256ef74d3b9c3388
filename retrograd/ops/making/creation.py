"""Tensors from nothing but a size: zeros, ones, ranges, the identity, and relatives of a tensor.

>>> import retrograd as torch
>>> torch.zeros(2, 3)
tensor([[0., 0., 0.],
        [0., 0., 0.]])

Every function takes ``dtype`` and ``requires_grad``; ``device``, ``layout`` and ``pin_memory`` are
accepted with the only values there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from retrograd import dtypes
from retrograd.above import above
from retrograd.backend import Backend, xp_of
from retrograd.backend.arrays import DType
from retrograd.backend.namespace import Namespace
from retrograd.engine.sparse_array import SPARSE_ARRAY, STRANGERS
from retrograd.engine.views import announce_write, bump, check_not_expanded
from retrograd.notices import runtime_error
from retrograd.ops.calling.examples import on_batch
from retrograd.ops.determinism import uninitialized
from retrograd.ops.errors import not_implemented_for
from retrograd.ops.kinds import Ints
from retrograd.ops.making.arguments import (
    as_element,
    as_integer,
    as_number,
    check_place,
    size_argument,
)
from retrograd.ops.making.construction import fresh
from retrograd.ops.making.memory import array_like, empty_array, region, strides_of
from retrograd.ops.registry import attach
from retrograd.signatures import CREATION, forms, sized
from retrograd.tensor import Array, Tensor, tensor_method
from retrograd.tensor.size import (
    Device,
    layout,
    memory_format,
    refuse_elsewhere,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)

_F = TypeVar("_F", bound=Callable[..., Any])


def publish(function: _F) -> _F:
    """Make a creating function public under its own name."""
    attach(function, public=(function.__name__,))
    return function


# Functions that fill an `out` of any shape which has the right number of elements.
_FILLS = frozenset(["arange", "linspace", "logspace", "range"])


def deliver(
    name: str, array: Array, out: Tensor | None, dtype: dtypes.dtype | None, requires_grad: bool
) -> Tensor:
    """The new array as a tensor, or written into `out`."""
    if out is None:
        return fresh(array, requires_grad)
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if dtype is not None and out._array.dtype is not array.dtype:
        raise runtime_error(
            f"dtype {dtypes.from_numpy_dtype(array.dtype).type_name} does not match dtype of out "
            f"parameter ({out.dtype.type_name})",
            code="RG301",
        )
    if out._array.shape != array.shape:
        if name in _FILLS and out._array.size == array.size:
            array = array.reshape(out._array.shape)
        else:
            out.resize_(array.shape)
    check_not_expanded(out)
    announce_write(out, name)
    xp_of(out._array).copy_into(out._array, array)
    bump(out, name)
    return out


# ------------------------------------------------------------------------------- by size alone


@above
def without_entries(
    name: str, shape: Ints, dtype: dtypes.dtype | None, layout: layout | None, requires_grad: bool
) -> Tensor:
    """A sparse tensor of zeros."""
    raise NotImplementedError


@above
def empty_like_sparse(
    name: str, input: Tensor, dtype: dtypes.dtype | None, layout: layout | None, requires_grad: bool
) -> Tensor:
    """`empty_like` and `zeros_like` of a sparse tensor."""
    raise NotImplementedError


@above
def sparse_missing(name: str, *tensors: Tensor) -> Exception:
    """The error of a function that takes no sparse tensors."""
    raise NotImplementedError


def _filled(name: str, value: int | None) -> Callable[..., Tensor]:
    @forms(
        *sized(f"out: Tensor | None = None, {CREATION}, memory_format: memory_format | None = None")
    )
    def create(
        *size: Ints,
        out: Tensor | None = None,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = strided,
        device: Device = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: memory_format | None = None,
        **named: object,
    ) -> Tensor:
        shape = size_argument(name, size, named)
        if layout is sparse_coo or layout is sparse_csr or layout is sparse_csc:
            refuse_elsewhere("sparse tensors", device)
            return without_entries(name, shape, dtype, layout, requires_grad)
        xp = check_place(name, layout, device, pin_memory).xp
        kind = dtypes.as_dtype(dtype, name)
        if kind is None:
            kind = dtypes.get_default_dtype() if out is None else out.dtype
        if value == 0 and memory_format is None:
            array: Array = xp.zeros(shape, kind.numpy)
        else:
            array = empty_array(xp, shape, kind.numpy, memory_format)
            array.fill(value) if value is not None else uninitialized(array)
        return deliver(name, array, out, dtype, requires_grad)

    create.__name__ = create.__qualname__ = name
    return publish(create)


zeros = _filled("zeros", 0)
zeros.__doc__ = """A tensor of zeros.

>>> import retrograd as torch
>>> torch.zeros(2)
tensor([0., 0.])
"""
ones = _filled("ones", 1)
ones.__doc__ = "A tensor of ones."
empty = _filled("empty", None)
empty.__doc__ = "A tensor whose elements are whatever the memory held."


@publish
def full(
    size: Any,
    fill_value: complex,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor with one value everywhere; its dtype is that of the value.

    >>> torch.full((2,), 7)
    tensor([7, 7])
    """
    shape = size_argument("full", (size,), {}, single=False)
    xp = check_place("full", layout, device, pin_memory).xp
    kind = dtypes.as_dtype(dtype, "full")
    value = as_number("full", "fill_value", 2, fill_value)
    if kind is None:
        kind = dtypes.number_dtype(value) if out is None else out.dtype
    array = xp.full(shape, as_element(value, kind), kind.numpy)
    return deliver("full", array, out, dtype, requires_grad)


@publish
def empty_strided(
    size: Any,
    stride: Ints | None,
    *,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Uninitialised memory with given strides (in elements)."""
    shape = size_argument("empty_strided", (size,), {}, single=False)
    steps = size_argument("empty_strided", (stride,), {}, single=False)
    xp = check_place("empty_strided", layout, device, pin_memory).xp
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides "
            f"({len(steps)})"
        )
    kind = dtypes.as_dtype(dtype, "empty_strided") or dtypes.get_default_dtype()
    array = strided_array(xp, shape, steps, kind.numpy)
    return fresh(uninitialized(array), requires_grad)


def strided_array(
    xp: Namespace, shape: tuple[int, ...], steps: tuple[int, ...], dtype: DType
) -> Array:
    """Uninitialised memory with strides in elements."""
    extent = (
        1 + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if 0 not in shape else 0
    )
    return region(xp.empty(extent, dtype), shape, 0, steps)


@publish
def scalar_tensor(
    s: Sequence[int] | None,
    *,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 0-d tensor of the default dtype."""
    xp = check_place("scalar_tensor", layout, device, pin_memory).xp
    kind = dtypes.as_dtype(dtype, "scalar_tensor") or dtypes.get_default_dtype()
    value = as_element(as_number("scalar_tensor", "s", 1, s), kind)
    return fresh(xp.full((), value, kind.numpy), requires_grad)


@publish
def eye(
    n: int,
    m: int | None = None,
    *,
    out: Tensor | None = None,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = strided,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Ones on the diagonal of an n by m matrix, zeros elsewhere.

    >>> torch.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    rows = as_integer("eye", "n", 1, n)
    columns = rows if m is None else as_integer("eye", "m", 2, m)
    for name, value in (("n", rows), ("m", columns)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    xp = check_place("eye", layout, device, pin_memory).xp
    kind = dtypes.as_dtype(dtype, "eye")
    if kind is None:
        kind = dtypes.get_default_dtype() if out is None else out.dtype
    if kind is dtypes.complex32:
        raise not_implemented_for("eye", kind.numpy)
    return deliver("eye", xp.eye(rows, columns, dtype=kind.numpy), out, dtype, requires_grad)


# ------------------------------------------------------------------------------ like a tensor


def sparse_like(
    name: str, input: Tensor, dtype: dtypes.dtype | None, layout: layout | None, requires_grad: bool
) -> Tensor:
    """`zeros_like` and `empty_like` of a sparse tensor: one without entries; others raise."""
    return empty_like_sparse(name, input, dtypes.as_dtype(dtype, name), layout, requires_grad)


def _like(name: str, value: int | None) -> Callable[..., Tensor]:
    def create(
        input: Tensor,
        *,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = None,
        device: Device = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        if type(getattr(input, "_array", None)) in STRANGERS:
            return sparse_like(name, input, dtype, layout, requires_grad)
        array = _like_array(name, input, dtype, layout, device, pin_memory, memory_format)
        array.fill(value) if value is not None else uninitialized(array)
        return fresh(array, requires_grad)

    create.__name__ = create.__qualname__ = name
    return publish(on_batch(create))


def _like_array(
    name: str,
    input: Tensor,
    dtype: dtypes.dtype | None,
    layout: layout | None,
    device: Device,
    pin_memory: bool,
    order: Any,
) -> Array:
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    place = check_place(name, layout, device, pin_memory)
    if type(input._array) is SPARSE_ARRAY:
        raise sparse_missing(name, input)
    kind = dtypes.as_dtype(dtype, name)
    target = input._array.dtype if kind is None else kind.numpy
    return like_on(place if device is not None else None, input._array, target, order)


def like_on(place: Backend | None, array: Array, target: DType, order: Any) -> Array:
    """`array_like` on a device; None is that of the array."""
    made = array_like(array, target, order)
    if place is None or type(made) is place.array:
        return made
    return strided_array(place.xp, made.shape, strides_of(made), target)


zeros_like = _like("zeros_like", 0)
zeros_like.__doc__ = "Zeros in the shape, dtype and memory order of a tensor."
ones_like = _like("ones_like", 1)
ones_like.__doc__ = "Ones in the shape, dtype and memory order of a tensor."
empty_like = _like("empty_like", None)
empty_like.__doc__ = "Uninitialised memory in the shape, dtype and memory order of a tensor."


@publish
@on_batch
def full_like(
    input: Tensor,
    fill_value: complex,
    *,
    dtype: dtypes.dtype | None = None,
    layout: layout | None = None,
    device: Device = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """One value in the shape, dtype and memory order of a tensor."""
    array = _like_array("full_like", input, dtype, layout, device, pin_memory, memory_format)
    value = as_number("full_like", "fill_value", 2, fill_value)
    array.fill(as_element(value, dtypes.from_numpy_dtype(array.dtype)))
    return fresh(array, requires_grad)


def _new(name: str, base: Callable[..., Tensor]) -> None:
    @forms(*sized(CREATION, before="self: Tensor"))
    def create(
        self: Tensor,
        *size: Ints,
        dtype: dtypes.dtype | None = None,
        layout: layout | None = None,
        device: Device = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **named: object,
    ) -> Tensor:
        shape = size_argument(name, size, named)
        return base(
            shape,
            dtype=self.dtype if dtype is None else dtype,
            layout=self.layout if layout is None else layout,
            device=self.device if device is None else device,
            pin_memory=pin_memory,
            requires_grad=requires_grad,
        )

    create.__name__ = create.__qualname__ = name
    create.__doc__ = f"`{base.__name__}` with this tensor's dtype unless another is given."
    tensor_method(create)


_new("new_zeros", zeros)
_new("new_ones", ones)
_new("new_empty", empty)


@tensor_method
def new_full(
    self: Tensor,
    size: Sequence[int],
    fill_value: complex,
    *,
    dtype: dtypes.dtype | None = None,
    **options: Any,
) -> Tensor:
    """`full` with this tensor's dtype unless another is given."""
    kind = self.dtype if dtype is None else dtype
    return full(size, fill_value, dtype=kind, **{"device": self.device, **options})


@tensor_method
def new_empty_strided(
    self: Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: dtypes.dtype | None = None,
    **options: Any,
) -> Tensor:
    """`empty_strided` with this tensor's dtype unless another is given."""
    kind = self.dtype if dtype is None else dtype
    return empty_strided(size, stride, dtype=kind, **options)
