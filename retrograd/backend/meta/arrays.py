"""Arrays that have all of an array but its elements: a `Layout`, and what kernels ask for.

Kernels look at elements here and there to refuse wrong ones (``if (index < 0).any()``) or to take a
shorter way. They find usual elements (`Usual`): `any` is false, `all` is true, the smallest is not
too small. Tables that a kernel makes of constants (where the windows of a pooling begin) are known.
A kernel that needs another number cannot run: `NoNumbers`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np

from retrograd.backend.arrays import Array, DType
from retrograd.backend.meta.errors import no_kernel
from retrograd.backend.meta.indexing import indexed
from retrograd.backend.meta.layout import (
    INSIDE,
    LARGEST,
    NO_DATA,
    Layout,
    made,
    no_item,
    resolved,
)
from retrograd.backend.quiet import quiet

MANY = 2**14
"""So many elements a table of constants may have that is known."""


def address_of(array: MetaArray) -> int:
    """Where the first element would lie."""
    return array.held.address


class Usual(Enum):
    """What kernels may take for granted of an element that they look at."""

    TRUE = 1
    FALSE = 2
    LOW = 3  # an extreme that is below every limit
    HIGH = 4


class Flags:
    """How an array lies, and whether it may be written."""

    __slots__ = ("_held", "_owns")

    def __init__(self, held: Layout, owns: bool) -> None:
        self._held = held
        self._owns = owns

    @property
    def c_contiguous(self) -> bool:
        """Whether elements lie side by side, row by row."""
        return self._held.is_contiguous(range(self._held.ndim)[::-1])

    @property
    def f_contiguous(self) -> bool:
        """Whether they do column by column."""
        return self._held.is_contiguous(range(self._held.ndim))

    @property
    def forc(self) -> bool:
        """Whether they do one way or the other."""
        return self.c_contiguous or self.f_contiguous

    @property
    def fnc(self) -> bool:
        """Whether they do column by column, and not row by row."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def owndata(self) -> bool:
        """Whether the memory was made for the array."""
        return self._owns

    @property
    def writeable(self) -> bool:
        """Whether the array may be written."""
        return self._held.writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        self._held.writeable = value


class MetaArray:
    """An array without elements.

    base    the array that the memory was made for; None if it is this one
    unsure  its length depends on elements, and is the longest that it can be
    usual   what is known of the element of one without dimensions
    known   the elements of a table of constants; `fresh` says whether nothing was written since
    """

    __slots__ = ("__weakref__", "base", "fresh", "held", "known", "unsure", "usual")
    __array_ufunc__ = None  # operators of NumPy's arrays leave the other operand's to us
    __array_priority__ = 2000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, held: Layout, unsure: bool = False, source: MetaArray | None = None) -> None:
        self.held = held
        self.base: MetaArray | None = (
            source if source is None or source.base is None else source.base
        )
        self.unsure = unsure
        self.usual: Usual | None = None
        self.known: Array | None = None
        self.fresh: list[bool] | None = None

    @property
    def table(self) -> Array | None:
        """The elements, where they are known."""
        return self.known if self.fresh is not None and self.fresh[0] else None

    def __array__(self, *_: object, **__: object) -> Any:
        raise no_item() if INSIDE.kernels else NotImplementedError(NO_DATA)

    def __repr__(self) -> str:
        return f"meta({list(self.shape)}, {self.dtype})"

    # ------------------------------------------------------------------------------------ facts

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)
    strides = property(lambda self: self.held.strides)
    ndim = property(lambda self: self.held.ndim)
    size = property(lambda self: self.held.size)
    itemsize = property(lambda self: self.held.dtype.itemsize)
    nbytes = property(lambda self: self.held.size * self.held.dtype.itemsize)
    flags = property(lambda self: Flags(self.held, self.base is None))

    T = property(lambda self: self.transpose())

    @property
    def real(self) -> MetaArray:
        """The real parts, a view."""
        if self.dtype.kind != "c":
            return self.view()
        return MetaArray(self.held.part(0), self.unsure, self)

    @real.setter
    def real(self, value: object) -> None:
        self.real[...] = value

    @property
    def imag(self) -> MetaArray:
        """The imaginary parts: a view, or zeros."""
        if self.dtype.kind != "c":
            return new(self.shape, self.dtype, unsure=self.unsure)
        return MetaArray(self.held.part(1), self.unsure, self)

    @imag.setter
    def imag(self, value: object) -> None:
        self.imag[...] = value

    # --------------------------------------------------------------------------------- elements

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous.")
        if self.table is not None:
            return bool(self.table)
        if self.usual is Usual.TRUE or self.usual is Usual.FALSE:
            return self.usual is Usual.TRUE
        raise no_item()

    def _elements(self) -> Array:
        if self.table is None:
            raise no_item()
        return self.table

    def __float__(self) -> float:
        return float(self._elements())

    def __int__(self) -> int:
        return int(self._elements())

    def __complex__(self) -> complex:
        return complex(self._elements())

    def __index__(self) -> int:
        return self._elements().__index__()

    def item(self, *place: int) -> Any:
        """An element, where it is known."""
        return self._elements().item(*place)

    def tolist(self) -> Any:
        """The elements, where they are known."""
        if self.table is None and not INSIDE.kernels:
            raise NotImplementedError(NO_DATA)
        return self._elements().tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """The elements' bytes, where they are known."""
        return self._elements().tobytes(order)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        return self.held.shape[0]

    def __iter__(self) -> Iterator[MetaArray]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, index: Any) -> MetaArray:
        if self.table is not None:
            found = folded(self.table.__getitem__, (index,), None, self)
            if found is not None:
                return found  # type: ignore[no-any-return]
        shape, unsure, view = indexed(self.held, index)
        if view is not None:
            return MetaArray(view, self.unsure, self)
        if unsure:
            check_unsure()
        return new(shape, self.dtype, unsure=unsure or self.unsure)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise ValueError("assignment destination is read-only")
        if self.table is not None:
            written = known_arguments((index, value))
            if written is not None:
                self.table[written[0]] = written[1]
                return
            self.forget()
        shape, unsure, _ = indexed(self.held, index)
        given = value if isinstance(value, (MetaArray, np.ndarray)) else None
        if given is None or unsure or getattr(given, "unsure", False) or 1 == given.size:
            return
        source = list(given.shape)
        while len(source) > len(shape) and source[0] == 1:
            del source[0]
        fits = len(source) <= len(shape) and all(
            have in (1, wanted)
            for have, wanted in zip(reversed(source), reversed(shape), strict=False)
        )
        if not fits:
            raise ValueError(
                f"could not broadcast input array from shape {given.shape} into shape {shape}"
            )

    def forget(self) -> None:
        """Note that something was written: what was known does not hold any more."""
        if self.fresh is not None:
            self.fresh[0] = False

    # ------------------------------------------------------------------------- views and copies

    def view(self, dtype: Any = None, *_: object) -> MetaArray:
        """The same memory, as elements of another dtype."""
        kind = self.dtype if dtype is None else np.dtype(dtype)
        return MetaArray(self.held.viewed(kind), self.unsure, self)

    def transpose(self, *axes: Any) -> MetaArray:
        """The dimensions in another order, a view."""
        return MetaArray(self.held.transpose(*axes), self.unsure, self)

    def swapaxes(self, first: int, second: int) -> MetaArray:
        """Two dimensions exchanged, a view."""
        return MetaArray(self.held.swapaxes(first, second), self.unsure, self)

    def squeeze(self, axis: Any = None) -> MetaArray:
        """Without dimensions of length 1, a view."""
        return MetaArray(self.held.squeeze(axis), self.unsure, self)

    def diagonal(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> MetaArray:
        """A diagonal, a view."""
        return MetaArray(self.held.diagonal(offset, axis1, axis2), self.unsure, self)

    def reshape(self, *shape: Any, order: Any = "C") -> MetaArray:
        """In another shape: a view where that is possible."""
        wanted = shape[0] if len(shape) == 1 and not hasattr(shape[0], "__index__") else shape
        target = resolved(self.size, tuple(int(n) for n in wanted))
        held = self.held.reshaped(target, order)
        if held is not None:
            return MetaArray(held, self.unsure, self)
        return new(target, self.dtype, unsure=self.unsure)

    def ravel(self, order: Any = "C") -> MetaArray:
        """As a row: a view where that is possible."""
        return self.reshape((-1,), order=order)

    def flatten(self, order: Any = "C") -> MetaArray:
        """As a row, a copy."""
        return new((self.size,), self.dtype, unsure=self.unsure)

    def astype(
        self, dtype: Any, order: Any = "K", casting: str = "", copy: bool = True
    ) -> MetaArray:
        """In another dtype."""
        kind = np.dtype(dtype) if isinstance(dtype, (str, type)) else dtype
        if not copy and kind == self.dtype:
            return self
        return like(self, kind, order)

    def copy(self, order: Any = "C") -> MetaArray:
        """A copy."""
        return like(self, self.dtype, order)

    def __deepcopy__(self, memo: dict[int, Any]) -> MetaArray:
        return self.copy("K")

    def fill(self, value: object) -> None:
        """There is nothing to write into."""
        self[...] = value

    def put(self, indices: object, values: object, mode: str = "raise") -> None:
        """There is nothing to write into."""
        self.forget()


def _keeping(name: str) -> None:
    """Let a method do the same with a table that is known."""
    method = getattr(MetaArray, name)

    @functools.wraps(method)
    def call(self: MetaArray, *args: Any, **options: Any) -> Any:
        if self.table is not None:
            found = folded(getattr(self.table, name), args, options, self)
            if found is not None:
                return found
        return method(self, *args, **options)

    setattr(MetaArray, name, call)


for _name in """
    view transpose swapaxes squeeze diagonal reshape ravel flatten astype copy
""".split():
    _keeping(_name)

# ------------------------------------------------------------------------------ known elements


def known_arguments(args: Sequence[Any]) -> list[Any] | None:
    """Arguments with the elements of tables in their place; None if elements are missing."""
    found: list[Any] = []
    for value in args:
        if type(value) is MetaArray:
            value = value.table
            if value is None:
                return None
        elif type(value) in (tuple, list) and any(type(x) is MetaArray for x in value):
            parts = known_arguments(value)
            if parts is None:
                return None
            value = type(value)(parts)
        found.append(value)
    return found


def folded(
    function: Callable[..., Any],
    args: Sequence[Any],
    options: dict[str, Any] | None = None,
    source: MetaArray | None = None,
) -> Any:
    """What a function gives for tables that are known, as such; None if elements are missing."""
    given = known_arguments(args)
    named = known_arguments(list(options.values())) if options else []
    if given is None or named is None:
        return None
    with quiet():
        found = function(*given, **dict(zip(options or (), named, strict=True)))
    return known(found, [source, *args])


def known(found: Any, sources: Sequence[Any] = (), bound: bool = True) -> Any:
    """Elements as an array that knows them.

    sources  may show the same memory
    bound    only if they are not many
    """
    if isinstance(found, (tuple, list)):
        return tuple(known(part, sources) for part in found)
    if not isinstance(found, (np.ndarray, np.generic)):
        return found
    table = np.asarray(found)
    axes = sorted(range(table.ndim), key=lambda axis: -abs(table.strides[axis]))
    array = new(table.shape, table.dtype, None if table.flags.c_contiguous else axes)
    if table.size <= MANY or not bound:
        array.known = table
        array.fresh = next(
            (x.fresh for x in sources if type(x) is MetaArray and _shares(x.known, table)), [True]
        )
    return array


def _shares(known: Array | None, table: Array) -> bool:
    return known is not None and np.may_share_memory(known, table)


# ----------------------------------------------------------------------------------- new arrays


def check_unsure() -> None:
    """Lengths that depend on elements are a kernel's own affair: no tensor may have one."""
    if not INSIDE.kernels:
        raise no_kernel("nonzero")


def new(
    shape: Sequence[int], dtype: DType, axes: Sequence[int] | None = None, *, unsure: bool = False
) -> MetaArray:
    """A new array; `axes` are its dimensions from the slowest to the fastest."""
    lengths = tuple(shape)
    if axes is not None:
        found = new([lengths[axis] for axis in axes], dtype, unsure=unsure)
        return found.transpose(sorted(range(len(lengths)), key=axes.__getitem__))
    if min(lengths, default=0) < 0:
        raise ValueError("negative dimensions are not allowed")
    size = math.prod(lengths) * dtype.itemsize
    if size >= LARGEST or math.prod(n for n in lengths if n) >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(lengths)}")
    return MetaArray(made(lengths, dtype), unsure)


def like(array: MetaArray, dtype: DType, order: Any = "K") -> MetaArray:
    """A new array in the shape, and for "K" in the memory order, of another."""
    flags = array.flags
    keeps = order == "K" or (order == "A" and flags.f_contiguous)
    if order == "F":
        return new(array.shape, dtype, tuple(reversed(range(array.ndim))), unsure=array.unsure)
    if not keeps or flags.c_contiguous:
        return new(array.shape, dtype, unsure=array.unsure)
    steps = array.strides
    axes = sorted(range(array.ndim), key=lambda axis: -abs(steps[axis]))
    return new(array.shape, dtype, axes, unsure=array.unsure)
