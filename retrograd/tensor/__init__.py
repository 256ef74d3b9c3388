"""class Tensor: an array plus autograd facts.

Only what every tensor *is* stands here: its array, its place in the graph, its flags. What a tensor
can *do* is declared elsewhere and attached: ops by `ops.registry`, `backward` and friends by
`autograd`, conversions by `conversion`. So this module imports none of them, and everything else
may import it.
"""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable
from types import CodeType, EllipsisType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from retrograd import dtypes
from retrograd.notices import runtime_error
from retrograd.tensor.size import CPU, Size, device, device_of, layout, strided

if TYPE_CHECKING:
    from retrograd.engine.node import Node
    from retrograd.engine.state import Cut
    from retrograd.engine.views import ViewInfo
    from retrograd.tensor.attached import Attached
    from retrograd.transforms.forward import DualLevel
else:
    Attached = object  # a type checker sees there what other modules attach

# hooks by the number of their handle; a gradient or None comes back
TensorHooks = OrderedDict[int, Callable[..., object]]
ndarray = np.ndarray
Array = np.ndarray[Any, Any]


class VersionCell:
    """Counts the in-place writes to one storage; shared by all its views and by `detach()`.

    Made lazily: a tensor without a cell is at version 0. The last write keeps its line.
    """

    __slots__ = ("code", "detached", "lasti", "version", "writer")
    counts = True

    def __init__(self) -> None:
        self.version = 0
        self.detached = 0  # sequence number of the last detach_() of a tensor with history
        self.writer: str | None = None
        self.code: CodeType | None = None
        self.lasti = 0


class TensorMeta:
    """The rarer facts of a tensor: gradient, accumulator, hooks. Made when first needed."""

    __slots__ = (
        "accumulator",
        "counted",
        "flagged",
        "frozen",
        "grad",
        "grad_dtype",
        "hooks",
        "inference",
        "post_accumulate_hooks",
        "relaid",
        "retains_grad",
        "retains_number",
        "tangents",
    )

    def __init__(self) -> None:
        self.grad: Tensor | None = None
        # what `.grad` is cast to: a dtype, None for no cast, or `...` for the tensor's own
        self.grad_dtype: dtypes.dtype | EllipsisType | None = ...
        # weak: the graph keeps the accumulator alive, not the leaf (no reference cycle)
        self.accumulator: weakref.ref[Node] | None = None
        self.hooks: TensorHooks | None = None
        self.post_accumulate_hooks: TensorHooks | None = None
        self.relaid = -1  # version at which an op such as t_() last changed the geometry
        self.retains_grad = False
        self.retains_number = 0
        self.inference = False
        self.counted: VersionCell | None = None  # see `engine.inference.count_writes`
        self.flagged: object = None  # see `engine.inference`
        self.frozen: Cut | None = None  # the line that set requires_grad to False last
        self.tangents: dict[DualLevel, Tensor] | None = None  # by dual level; see autograd.forward


class Tensor(Attached):
    """A multi-dimensional array that remembers how it was computed.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "_array",
        "_cell",
        "_cut",
        "_grad_fn",
        "_meta",
        "_output_nr",
        "_requires_grad",
        "_view",
    )

    _array: Array
    _requires_grad: bool  # own flag; for a view `refresh` keeps it equal to the public property
    _grad_fn: Node | None  # for a view: right only after `refresh`
    _output_nr: int
    _cell: VersionCell | None
    _view: ViewInfo | None
    _cut: Cut | None
    _meta: TensorMeta | None

    _level: int = 0  # of the vmap call whose batched tensor this is; 0 for ordinary tensors
    _physical: Tensor  # of a batched tensor: all its examples

    # NumPy must let our reflected operators handle `ndarray * tensor`
    __array_priority__ = 1000

    # `sparse.methods` replaces what is said of sparse layouts
    is_sparse = is_quantized = is_mkldnn = is_mps = is_xpu = False
    is_nested = is_sparse_csr = False

    # ------------------------------------------------------------------ facts of the array

    @property
    def shape(self) -> Size:
        """The size of each dimension."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.from_numpy_dtype(self._array.dtype)

    @property
    def device(self) -> device:
        """Where the elements live."""
        return CPU if type(self._array) is ndarray else device_of(self._array)

    @property
    def is_cpu(self) -> bool:
        """Whether the elements live on the CPU."""
        return self.device.type == "cpu"

    @property
    def is_cuda(self) -> bool:
        """Whether the elements live on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_meta(self) -> bool:
        """Whether there are no elements: a shape, a dtype and strides only."""
        return self.device.type == "meta"

    @property
    def layout(self) -> layout:
        """How the elements are laid out; `sparse.methods` knows of more layouts."""
        return strided

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self._array.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self._array.nbytes

    # ------------------------------------------------------------------ facts of the graph

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        return self._output_nr

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad()` asked for this non-leaf's gradient."""
        return self._meta is not None and self._meta.retains_grad

    @property
    def _version(self) -> int:
        cell = self._cell
        if cell is None:
            return 0
        if not cell.counts:
            counted = None if self._meta is None else self._meta.counted
            if counted is not None:
                return counted.version
            raise runtime_error("Inference tensors do not track version counter.", code="RG113")
        return cell.version

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    def _without_history(self) -> Tensor:
        """The same elements, version and tangents, but no node: an output as its node saves it."""
        made = wrap(self._array)
        made._cell = self._cell
        if self._meta is not None and self._meta.tangents:
            meta_of(made).tangents = self._meta.tangents  # shared: a closed level clears it
        return made

    def _elements(self) -> Array:
        """All elements, of every example where the tensor is batched: for checks of values."""
        return self._array

    def is_inference(self) -> bool:
        """Whether this tensor was made in inference mode."""
        return self._meta is not None and self._meta.inference

    def __hash__(self) -> int:
        return id(self)


_new = object.__new__


def wrap(array: Array) -> Tensor:
    """A plain tensor around `array`: no history, no gradient wanted."""
    tensor = _new(Tensor)
    tensor._array = array
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._cell = None
    tensor._view = None
    tensor._cut = None
    tensor._meta = None
    return tensor


def meta_of(tensor: Tensor) -> TensorMeta:
    """The tensor's rarer facts, made now if it had none."""
    meta = tensor._meta
    if meta is None:
        made = TensorMeta()
        meta = tensor._meta
        if meta is None:  # still: another thread may have run during the call
            meta = tensor._meta = made
    return meta


def cell_of(tensor: Tensor) -> VersionCell:
    """The version cell of the tensor's storage, made now if it had none."""
    cell = tensor._cell
    if cell is None:
        made = VersionCell()
        cell = tensor._cell
        if cell is None:  # still: another thread may have run during the call
            cell = tensor._cell = made
    return cell


_F = TypeVar("_F", bound=Callable[..., object])


def tensor_method(function: _F) -> _F:
    """Attach a function to Tensor as the method of its own name."""
    setattr(Tensor, function.__name__, function)
    return function


def tensor_member(name: str, member: object) -> None:
    """Attach anything else to Tensor: a property that can be set, a static method."""
    setattr(Tensor, name, member)


def tensor_property(function: Callable[..., object]) -> property:
    """Attach a function to Tensor as the read-only property of its own name."""
    made = property(function)
    setattr(Tensor, function.__name__, made)
    return made
