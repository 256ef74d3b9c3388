"""BatchedTensor: what a function under `vmap` sees, one example that stands for a whole batch.

It wraps a *physical* tensor, which has the batch as one of its dimensions, and hides that
dimension. Every op on it goes to the general path, which asks `batched` here: the rule of
`batching` for the op runs on the physical tensors, and its results are wrapped again. The
physical tensor may itself be batched, by an outer `vmap`; it may require grad or carry a tangent,
of transforms outside. What is recorded on the BatchedTensor itself belongs to transforms inside.

Its `_array` has no elements, only facts (shape, dtype, strides): code that reads elements without
a batching rule raises instead of computing with one example's numbers.
"""

from __future__ import annotations

import importlib
import math
import textwrap
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from retrograd import core
from retrograd.backend import xp_of
from retrograd.engine.state import GIL, HOT, STATE, TRANSFORMS, count_unusual
from retrograd.engine.views import bump, refresh
from retrograd.notices import explained, runtime_error
from retrograd.ops.calling.plan import CallPlan
from retrograd.ops.calling.recording import (
    fill_outputs,
    is_wanted,
    link_outputs,
    pass_on_cut,
    record,
)
from retrograd.ops.calling.shortcut import call_generated, usual_operands
from retrograd.ops.making.arguments import size_argument
from retrograd.ops.registry import OPS, Op
from retrograd.tensor import Array, Tensor, VersionCell, cell_of, meta_of
from retrograd.transforms.trees import LEAVES

# ------------------------------------------------------------------------------- running vmaps


class Level:
    """One running `vmap` call."""

    __slots__ = ("direct", "directions", "number", "randomness", "size")

    def __init__(self, number: int, size: int, randomness: str) -> None:
        self.number = number
        self.size = size
        self.randomness = randomness
        self.direct = False  # custom Functions run on the batched tensors themselves
        self.directions = False  # only tangents are batched: what the function sees is not


def _escaped() -> Exception:
    """The error for a batched tensor that is used when its vmap call has returned."""
    return runtime_error(
        "Either your tensor may have escaped from inside a function being vmapped and this is "
        "a user error (see https://pytorch.org/functorch/stable/ux_limitations.html), or there "
        "is an internal functorch error in `gen_vmap_plumbing` Please file an issue if it "
        "looks like the latter",
        code="RG605",
    )


def level_of(number: int) -> Level:
    """The running call of a level; a tensor that outlived its call has none."""
    stack = STATE.vmaps
    if not 0 < number <= len(stack):
        raise _escaped()
    return stack[number - 1]


# -------------------------------------------------------------------------- arrays without data

_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling "
    ".item() on a Tensor, please try to rewrite what you're doing with other operations. If error "
    "is occurring somewhere inside PyTorch internals, please file a bug report."
)
_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We "
    "don't support that yet, please file an issue at https://github.com/pytorch/pytorch/issues ."
)
_NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"


def _unreadable(more: str = "") -> Exception:
    """The error for reading elements of a batched tensor."""
    return runtime_error(_NO_STORAGE + more, code="RG601") if STATE.vmaps else _escaped()


# NumPy functions that look at places in memory only
_ABOUT_MEMORY = (np.may_share_memory, np.shares_memory)


class LogicalArray:
    """The facts of one example's array. `isinstance` sees the device's array, NumPy does not.

    So NumPy asks the protocols below for the elements, and they raise.
    """

    __slots__ = ("_dim", "_first", "_whole", "dtype", "shape", "strides")

    def __init__(self, whole: Array, dim: int | None) -> None:
        self._whole = whole
        self._dim = dim  # of the batch; None: there is no batch in `whole`
        self._first: Array | None = whole if dim is None else None
        shape, strides = whole.shape, whole.strides
        self.dtype = whole.dtype
        self.shape = shape if dim is None else (*shape[:dim], *shape[dim + 1 :])
        self.strides = strides if dim is None else (*strides[:dim], *strides[dim + 1 :])

    @property
    def _example(self) -> Array:
        """The first of the batch: for its place in memory only."""
        if self._first is None:
            assert self._dim is not None
            self._first = _example_of(self._whole, self._dim)
        return self._first

    @property
    def __class__(self) -> Any:
        return self._whole.__class__

    @__class__.setter
    def __class__(self, value: object) -> None:
        raise TypeError("an array without elements stays one")

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))
    itemsize = property(lambda self: self.dtype.itemsize)
    nbytes = property(lambda self: self._example.nbytes)
    flags = property(lambda self: self._example.flags)
    ctypes = property(lambda self: self._example.ctypes)
    base = property(lambda self: self._example)
    data = property(lambda self: self._whole.data)
    device = property(lambda self: self._whole.device)

    def swapaxes(self, first: int, second: int) -> LogicalArray:
        """The facts with two dimensions swapped."""
        return LogicalArray(self._example.swapaxes(first, second), None)

    def __array__(self, *args: object, **kwargs: object) -> NoReturn:
        raise _unreadable()

    def __array_ufunc__(self, *args: object, **kwargs: object) -> NoReturn:
        raise _unreadable()

    def __array_function__(self, function: Any, types: object, args: Any, kwargs: Any) -> Any:
        if function in _ABOUT_MEMORY:
            bare = [x._example if type(x) is LogicalArray else x for x in args]
            return function(*bare, **kwargs)
        if function is np.shape:
            return self.shape
        if function is np.ndim:
            return self.ndim
        raise _unreadable()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("item", "tolist"):
            raise runtime_error(_ITEM, code="RG601")
        raise _unreadable(f": the elements were asked for .{name}, inside of vmap")

    def __getitem__(self, index: object) -> NoReturn:
        raise _unreadable()

    def __setitem__(self, index: object, value: object) -> NoReturn:
        raise _unreadable()

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return int(self.shape[0])

    def __iter__(self) -> NoReturn:
        raise _unreadable()

    def __bool__(self) -> NoReturn:
        raise runtime_error(_CONTROL_FLOW, code="RG601")

    def __float__(self) -> NoReturn:
        raise runtime_error(_ITEM, code="RG601")

    __int__ = __complex__ = __index__ = __float__


def _example_of(array: Any, dim: int) -> Array:
    """The first example of a physical array, for its facts; something as large if there is none."""
    whole: Array = array._example if type(array) is LogicalArray else array
    first: Any = (*(slice(None),) * dim, 0, ...)
    if whole.shape[dim]:
        example: Array = whole[first]
    else:
        example = xp_of(whole).empty((*whole.shape[:dim], *whole.shape[dim + 1 :]), whole.dtype)
    found: Array = xp_of(whole).read_only(example)
    return found


# ------------------------------------------------------------------------------- the tensor


class BatchedTensor(Tensor):
    """One example of a batch, inside of the `vmap` call of its level."""

    __slots__ = ("_batch_dim", "_facts", "_level", "_physical", "_seen")

    _physical: Tensor
    _batch_dim: int
    _level: int
    _facts: Any  # the LogicalArray, and the physical array that it was made for
    _seen: Array | None

    @property
    def _array(self) -> Any:
        array = self._physical._array
        if array is not self._seen:
            self._seen = array
            self._facts = LogicalArray(array, self._batch_dim)
        return self._facts

    @_array.setter
    def _array(self, value: object) -> None:
        raise runtime_error(
            "the memory of a tensor cannot be replaced inside of vmap", code="RG603"
        )

    @property
    def _cell(self) -> VersionCell | None:
        return self._physical._cell

    @_cell.setter
    def _cell(self, value: VersionCell | None) -> None:
        self._physical._cell = value

    def _without_history(self) -> Tensor:
        """The same elements and tangents, but no node of this level."""
        made = rewrap(self._physical, self._batch_dim, self._level)
        if self._meta is not None and self._meta.tangents:
            from retrograd.transforms.forward import holder_of

            for level, tangent in self._meta.tangents.items():
                holder_of(made).put(level, tangent)
        return made

    def _elements(self) -> Array:
        """All elements of all examples."""
        return self._physical._elements()

    def detach(self) -> Tensor:
        """The same elements without history, neither here nor outside of vmap."""
        return rewrap(self._physical.detach(), self._batch_dim, self._level)

    def __repr__(self) -> str:
        inner = textwrap.indent(repr(self._physical), "    ")
        return f"BatchedTensor(lvl={self._level}, bdim={self._batch_dim}, value=\n{inner}\n)"

    def __bool__(self) -> NoReturn:
        raise runtime_error(_CONTROL_FLOW, code="RG601")

    def item(self) -> NoReturn:
        """Raise: a batch has no single number."""
        raise runtime_error(_ITEM, code="RG601")

    __float__ = __int__ = __complex__ = __index__ = item

    def __contains__(self, element: object) -> NoReturn:
        raise runtime_error(_ITEM, code="RG601")

    def __format__(self, spec: str) -> str:
        if not spec:
            return repr(self)
        raise runtime_error(_ITEM, code="RG601")

    def tolist(self) -> NoReturn:
        """Raise: a batch has no elements of its own."""
        raise _unreadable()

    def numpy(self, *, force: bool = False) -> NoReturn:
        """Raise: a batch has no array of its own."""
        raise _unreadable()

    def data_ptr(self) -> NoReturn:
        """Raise: a batch has no memory of its own."""
        raise _unreadable()

    def storage(self) -> NoReturn:
        """Raise: a batch has no memory of its own."""
        raise explained(
            NotImplementedError("Cannot access storage of BatchedTensorImpl"), code="RG601"
        )

    untyped_storage = storage

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise explained(
            NotImplementedError("Cannot access storage of BatchedTensorImpl"), code="RG601"
        )

    def _new(self, name: str, size: tuple[object, ...], options: dict[str, object]) -> Tensor:
        shape = size_argument(name, size, options)
        made = getattr(self._physical, name)((level_of(self._level).size, *shape), **options)
        return rewrap(made, 0, self._level)

    def new_zeros(self, *size: object, **options: object) -> Tensor:
        """Zeros for every example: unlike `torch.zeros`, they can be written with batches."""
        return self._new("new_zeros", size, options)

    def new_ones(self, *size: object, **options: object) -> Tensor:
        """Ones for every example."""
        return self._new("new_ones", size, options)

    def new_empty(self, *size: object, **options: object) -> Tensor:
        """Uninitialised memory for every example."""
        return self._new("new_empty", size, options)

    def new_full(self, size: Sequence[int], fill_value: complex, **options: Any) -> Tensor:
        """One value everywhere, for every example."""
        shape = (level_of(self._level).size, *size)
        return rewrap(self._physical.new_full(shape, fill_value, **options), 0, self._level)

    @property
    def data(self) -> Tensor:
        """Raise: PyTorch forbids it here; `detach` is the way."""
        raise runtime_error("accessing `data` under vmap transform is not allowed", code="RG601")

    @data.setter
    def data(self, value: object) -> None:
        raise runtime_error(
            "mutating directly with `.data` under vmap transform is not allowed.", code="RG601"
        )


_new = object.__new__


def rewrap(physical: Tensor, dim: int, level: int) -> BatchedTensor:
    """A batched tensor around a physical one, whose dimension `dim` is hidden."""
    tensor = _new(BatchedTensor)
    tensor._physical = physical
    tensor._batch_dim = dim
    tensor._level = level
    tensor._seen = None
    tensor._requires_grad = False
    tensor._grad_fn = None
    tensor._output_nr = 0
    tensor._view = None
    tensor._cut = None
    tensor._meta = None
    return tensor


def batch(tensor: Tensor, dim: int, level: int) -> BatchedTensor:
    """Hide a dimension (not negative) of a tensor, as `vmap` does with its inputs."""
    return rewrap(tensor, dim, level)


def unwrap(tensor: Tensor, level: int) -> tuple[Tensor, int | None]:
    """The physical tensor and its batch dimension; the tensor and None if it has not that level."""
    if tensor._level == level:
        assert isinstance(tensor, BatchedTensor)
        return tensor._physical, tensor._batch_dim
    return tensor, None


def visible_level() -> int:
    """The innermost running `vmap` whose batches the function sees; 0: there is none."""
    for level in reversed(STATE.vmaps):
        if not level.directions:
            return level.number
    return 0


def lift(tensor: Tensor) -> Tensor:
    """A tensor as one of the innermost visible `vmap`, expanded where it is not batched yet.

    For transforms inside of `vmap`: what is recorded on the result belongs to them alone.
    """
    level = visible_level()
    return tensor if tensor._level >= level else expanded(tensor, level)


def expanded(tensor: Tensor, level: int) -> BatchedTensor:
    """A tensor as one of a running `vmap`, the same for all examples."""
    from retrograd.ops.registry import RECORDED
    from retrograd.transforms.forward import holder_of, parted

    tangents: Any = {}
    if TRANSFORMS.dual_levels:
        tensor, tangents = parted(tensor, level)
    shape = (level_of(level).size, *tensor._array.shape)
    made = rewrap(RECORDED.expand(tensor, shape), 0, level)
    for dual_level, tangent in tangents.items():
        holder_of(made).put(dual_level, tangent)
    return made


def like_batch(
    function: Callable[..., Tensor], tensor: Tensor, args: tuple[Any, ...], options: Any
) -> Tensor:
    """A function like `zeros_like`, whose result is shaped as its argument, of a whole batch."""
    assert isinstance(tensor, BatchedTensor)
    made = function(tensor._physical, *args, **options)
    return rewrap(made, tensor._batch_dim, tensor._level)


# --------------------------------------------------------------- what the general path calls


_LATER: Any = None  # the package of batching rules, which imports this module


def _rules() -> Any:
    global _LATER
    _LATER = importlib.import_module("retrograd.transforms.batching")
    return _LATER


def batched(
    level: int, op: Op, args: tuple[object, ...], tensors: Sequence[object]
) -> list[Tensor]:
    """The results of an op at least one of whose arguments has this level, as batched tensors."""
    size = level_of(level).size
    for value in tensors:
        if type(value) is BatchedTensor and value._level == level:
            if value._physical._array.shape[value._batch_dim] != size:
                raise _escaped()  # of another call of this level
    batching = _LATER or _rules()
    call = batching.BatchedCall(op, args, level, size)
    # below the outermost vmap all tensors are ordinary ones: their ops may go the short way
    own = len(STATE.vmaps) if level == 1 else 0
    if GIL:
        HOT["UNUSUAL"] -= own  # written out: a call would be a point at which Ctrl-C can come
    else:
        count_unusual(-own)
    try:
        if len(tensors) > 1 and not op.elementwise:
            call.args = _with_shared(op.plan, args, level)
        results = batching.rule_for(op)(call)
    except Exception as error:
        raise call.failure(error) from None
    finally:
        if GIL:
            HOT["UNUSUAL"] += own
        else:
            count_unusual(own)
    return [rewrap(result, 0, level) for result in results]


def _with_shared(plan: CallPlan, args: tuple[object, ...], level: int) -> tuple[object, ...]:
    """The arguments, those without the batch that are the same for all examples, if not all are.

    A weight that is differentiated inside of `vmap` is such: it was expanded. Then one product
    with it does for all examples.
    """
    batched_places = shared_places = 0
    values: list[Any] = list(args)
    for place in plan.tensor_places:
        value = values[place]
        if type(value) is BatchedTensor and value._level == level:
            physical, dim = value._physical, value._batch_dim
            batched_places += 1
            array = physical._array
            if array.strides[dim] == 0 and array.shape[dim] > 1:
                shared_places += 1
                values[place] = (physical, dim)
    if not 0 < shared_places < batched_places:
        return args
    from retrograd.ops.registry import RECORDED

    for place in plan.tensor_places:
        if type(values[place]) is tuple:
            physical, dim = values[place]
            values[place] = RECORDED.select(physical, dim, 0)
    return tuple(values)


def batched_shortcut(op: Op, plan: CallPlan, args: tuple[object, ...]) -> Any:
    """The result of an op in the usual case of `vmap`; None: the general path has to.

    For a thread whose `vmap` calls are the only rare mode anywhere.
    """
    own = len(STATE.vmaps)
    if own != TRANSFORMS.active:
        return None
    level = 0
    wanted = False
    operands: list[Any] = []
    for p in plan.tensors:
        value = args[p.place]
        if isinstance(value, Tensor):
            if value._view is not None:
                refresh(value)
            if value._requires_grad:
                wanted = True
            if value._level > level:
                level = value._level
        elif value is None:
            if not p.may_be_none:
                return None
        elif not p.may_be_number or (type(value) is not float and type(value) is not int):
            return None
        operands.append(value)
    if not level:
        return None if usual_operands(plan, args) is None else call_generated(op, plan, args, own)
    wanted = wanted and STATE.grad_enabled
    if wanted:
        for value in operands:
            if isinstance(value, Tensor) and value._array.dtype.itemsize < 4:
                return None  # half precision has nodes of its own
    outputs = batched(level, op, args, operands)
    if wanted and is_wanted(op, operands, level):
        node = record(op, args, operands, outputs, None, level)
        if node is not None:
            fill_outputs(op, node, outputs)
    else:
        pass_on_cut(op, operands, outputs, False)
    if op.view is not None:
        link_outputs(op, args, operands[0], outputs)
    return outputs[0]


def _recorded(op: Op, args: tuple[object, ...], operands: list[Any], output: Tensor) -> None:
    """Give a result of the outermost `vmap` its node: for the core, where it does not know how."""
    node = record(op, args, operands, [output], None, 1)
    if node is not None:
        fill_outputs(op, node, [output])


def _lines_up(op: Op) -> bool:
    """Whether an op has the batching rule of elementwise ones."""
    rules = _LATER or _rules()
    return bool(rules.rule_for(op) is rules.elementwise.elementwise)


_INPLACE = (
    "vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor "
    "`other` in extra_args that has more elements than `self`. This happened due to `other` being "
    "vmapped over but `self` not being vmapped over in a vmap. Please try to use out-of-place "
    "operators instead of inplace arithmetic. If said operator is being called inside the PyTorch "
    "framework, please file a bug report instead."
)


def batched_inplace(target: Tensor, shadow: Tensor, writer: str) -> None:
    """Write the batched result of an in-place op into the memory of its target."""
    assert isinstance(shadow, BatchedTensor)
    if target._level != shadow._level:
        name = {"_fill_tensor_in_place": "fill_"}.get(writer, writer)
        if name not in ("fill_", "index_put_"):
            name = "inplace arithmetic"
        raise runtime_error(_INPLACE.replace("inplace arithmetic", name), code="RG603")
    assert isinstance(target, BatchedTensor)
    target._physical.copy_(shadow._physical.movedim(shadow._batch_dim, target._batch_dim))
    cell = target._physical._cell
    if cell is not None:
        cell.writer = writer


def change_geometry(tensor: Tensor, op: Op, options: tuple[object, ...], writer: str) -> Tensor:
    """An in-place op such as `t_`: the batched tensor becomes what the view op makes of it."""
    seen = op.function(tensor, *options)
    assert isinstance(tensor, BatchedTensor)
    tensor._physical, tensor._batch_dim, tensor._seen = seen._physical, seen._batch_dim, None
    tensor._grad_fn, tensor._output_nr = seen._grad_fn, seen._output_nr
    bump(tensor, writer)
    version = cell_of(tensor).version
    if tensor._view is not None:
        tensor._view.last = (op, options, None, tensor._view.last)
        tensor._view.at = version
    else:
        meta = meta_of(tensor)
        meta.relaid = version
        meta.accumulator = None  # it knows the old shape
    return tensor


LEAVES.add(BatchedTensor)
TRANSFORMS.batched = batched
TRANSFORMS.batched_inplace = batched_inplace
TRANSFORMS.batched_shortcut = batched_shortcut
if core.AVAILABLE:
    core.compiled("use_batches")(
        BatchedTensor, batched, batched_shortcut, _recorded, _lines_up, OPS["view"].function
    )

__all__ = ["BatchedTensor", "Level", "batch", "lift", "rewrap", "unwrap"]
