"""SparseArray: what a sparse tensor has in the place of an array of elements.

A sparse tensor is a plain `Tensor` (``type(x) is torch.Tensor``) whose `_array` is one of these: it
knows shape and dtype, holds the indices and the values, and has no elements. Dense code must never
compute with it, and needs no test for it on its fast path:

- its dtype equals NumPy's but is another object, and generated functions take a dtype only if it
  *is* float32's or float64's: they go to the general path, which asks `retrograd.sparse`;
- functions that move elements of any dtype call their kernel, which asks for elements: that raises
  `NoElements`, and the generated function then goes to the general path too;
- everything else that reads elements raises `NoElements` to the user, who sees which layout it was.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from retrograd.above import above
from retrograd.backend import CPU
from retrograd.backend.device import BACKENDS
from retrograd.tensor import Tensor
from retrograd.tensor.size import layout as Layout
from retrograd.tensor.size import sparse_coo, sparse_csr

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from retrograd.ops.registry import Op

Array = np.ndarray[Any, Any]


class NoElements(RuntimeError):
    """Somebody asked a sparse tensor for its elements as if it had one for every place."""


_DTYPES: dict[np.dtype, np.dtype] = {}


def _marked(dtype: np.dtype) -> np.dtype:
    """The dtype as another object, which is equal to it."""
    found = _DTYPES.get(dtype)
    if found is None:
        found = _DTYPES[dtype] = np.dtype(dtype, metadata={"sparse": True})
    return found


class _Flags:
    """What NumPy says of an array's memory: here there is none."""

    c_contiguous = f_contiguous = contiguous = forc = owndata = False
    writeable = True


_FLAGS = _Flags()


class _Nowhere:
    """In place of the array that memory belongs to."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NoElements("Cannot access data pointer of Tensor that doesn't have storage")


_NOWHERE = _Nowhere()


class SparseArray:
    """Indices and values of a sparse tensor: by coordinates (COO), or compressed by rows (CSR) or
    by columns (CSC).

    `indices` of COO is ``(sparse dimensions, nnz)``; of CSR it is the pair of row pointers and
    column numbers, of CSC that of column pointers and row numbers. `values` has one entry for each,
    which may be an array itself (a hybrid tensor).
    """

    __slots__ = ("coalesced", "dtype", "indices", "kept", "layout", "plans", "shape", "values")

    # for messages
    without_elements = (
        "a tensor of layout {layout!r} has no array of elements{more}; to_dense() makes one"
    )

    layout: Layout
    shape: tuple[int, ...]
    indices: Any  # an array or a pair of them, by layout
    values: Array
    coalesced: bool  # sorted, and no place twice
    kept: bool  # as a gradient: stays coalesced when it becomes a `.grad`
    plans: Any  # how to walk it by rows or by columns, once somebody did

    def __init__(
        self,
        kind: Layout,
        indices: Array | tuple[Array, ...],
        values: Array,
        shape: tuple[int, ...],
        coalesced: bool = False,
    ) -> None:
        SPARSE.exist = True
        self.layout = kind
        self.indices = indices
        self.values = values
        self.shape = shape
        self.dtype = _marked(values.dtype)
        self.coalesced = coalesced
        self.kept = False
        self.plans = None

    def become(self, other: SparseArray) -> None:
        """Take over the contents of another: all tensors that share this one see it."""
        self.layout, self.shape, self.dtype = other.layout, other.shape, other.dtype
        self.indices, self.values = other.indices, other.values
        self.coalesced, self.plans = other.coalesced, None

    @property
    def nnz(self) -> int:
        """How many entries there are, those that share a place counted each."""
        if self.layout is sparse_coo:
            return int(self.indices.shape[1])
        return int(self.indices[1].shape[-1])

    @property
    def sparse_dim(self) -> int:
        """How many dimensions the indices are about."""
        return int(self.indices.shape[0]) if self.layout is sparse_coo else 2

    @property
    def dense_dim(self) -> int:
        """How many dimensions each value has."""
        return len(self.shape) - self.sparse_dim

    # ------------------------------------------------------------------ facts, as arrays have them

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    strides = property(lambda self: (0,) * len(self.shape))
    flags = _FLAGS

    # not None, so that it is never adopted unseen; and nothing that could be looked into
    base = _NOWHERE

    @property
    def nbytes(self) -> int:
        """Bytes of values and indices."""
        parts = self.indices if isinstance(self.indices, tuple) else (self.indices,)
        return int(self.values.nbytes + sum(part.nbytes for part in parts))

    def astype(self, dtype: DTypeLike, **options: object) -> SparseArray:
        """The same places with values of another dtype."""
        made = SparseArray(
            self.layout, self.indices, self.values.astype(dtype), self.shape, self.coalesced
        )
        made.plans = self.plans
        return made

    def copy(self, order: str | None = None) -> SparseArray:
        """A copy of values and indices."""
        pair = self.indices
        indices = tuple(x.copy() for x in pair) if isinstance(pair, tuple) else pair.copy()
        return SparseArray(self.layout, indices, self.values.copy(), self.shape, self.coalesced)

    # ------------------------------------------------------------------ no elements

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise no_elements(self)

    __array__ = __array_function__ = __getitem__ = __setitem__ = __iter__ = _refuse
    __bool__ = __float__ = __int__ = __complex__ = __index__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __invert__ = __abs__ = _refuse
    __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _refuse

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise no_elements(self, name)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: object) -> Any:
        """Gradients that meet are added, whatever they are; nothing else is an array's business."""
        if ufunc is np.add and method == "__call__" and not options and len(inputs) == 2:
            from retrograd.engine.sparse_sums import add_arrays  # which imports this module

            return add_arrays(*inputs)
        raise no_elements(self, ufunc.__name__)

    def __add__(self, other: Any) -> Any:
        return np.add(self, other)

    def __radd__(self, other: Any) -> Any:
        return np.add(other, self)


# for tests of a tensor's `_array`, which is declared to be NumPy's
SPARSE_ARRAY: Any = SparseArray
CPU.relatives = (*CPU.relatives, SparseArray)
STRANGERS: set[type] = {SparseArray}
"""The types of what stands in the place of elements: masked tensors add theirs."""


def no_elements(array: Any, wanted: str = "") -> NoElements:
    """The error for elements of a tensor that has none."""
    more = f" ({wanted} asked for them)" if wanted else ""
    return NoElements(
        "Cannot access data pointer of Tensor that doesn't have storage: "
        + array.without_elements.format(layout=array.layout, more=more)
    )


def coo(indices: Array, values: Array, shape: tuple[int, ...], coalesced: bool) -> SparseArray:
    """A sparse array by coordinates."""
    return SparseArray(sparse_coo, indices, values, shape, coalesced)


def csr(
    rows: Array, columns: Array, values: Array, shape: tuple[int, ...], ordered: bool = True
) -> SparseArray:
    """A sparse array compressed by rows; `ordered`: the columns of each row come in order."""
    return SparseArray(sparse_csr, (rows, columns), values, shape, ordered)


def as_array(value: object) -> Any:
    """A gradient as an array: sparse ones and those of other backends stay what they are."""
    return value if type(value) is SparseArray or type(value) in BACKENDS else np.asarray(value)


def has_sparse(arrays: Iterable[object]) -> bool:
    """Whether an operand is sparse; a list of tensors is a list of arrays here."""
    for array in arrays:
        if type(array) in STRANGERS:
            return True
        if type(array) is list and has_sparse(array):
            return True
    return False


class _Sparse:
    """Whether there has ever been a sparse tensor: if not, nobody has to look for one."""

    exist = False


SPARSE = _Sparse()


@above
def run(op: Op, args: tuple[object, ...]) -> Any:
    """The result of an op with a sparse operand."""
    raise NotImplementedError


@above
def run_masked(op: Op, args: tuple[object, ...]) -> Any:
    """The result of an op with a masked operand."""
    raise NotImplementedError


@above
def run_masked_in_place(op: Op, args: tuple[object, ...], writer: str) -> Any:
    """The same in place."""
    raise NotImplementedError


@above
def masked_like(name: str, tensor: Tensor, dtype: Any) -> Tensor:
    """`ones_like` and its relatives, of a masked tensor."""
    raise NotImplementedError


@above
def refuse_batches(op: Op, args: tuple[object, ...]) -> None:
    """Raise where a sparse operand meets a batched one."""
    raise NotImplementedError


@above
def run_in_place(op: Op, args: tuple[object, ...], writer: str) -> Any:
    """The same in place."""
    raise NotImplementedError


@above
def zero(target: Tensor) -> Tensor:
    """`zero_` of a sparse tensor."""
    raise NotImplementedError


@above
def copy(target: Tensor, source: Tensor) -> Tensor:
    """`copy_` from or to a sparse tensor."""
    raise NotImplementedError


@above
def refuse_out(op: Op, tensors: list[Tensor]) -> Exception:
    """The error for ``out=``."""
    raise NotImplementedError
