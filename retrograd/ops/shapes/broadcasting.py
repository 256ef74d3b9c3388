"""Broadcasting made visible: expand and the functions that bring shapes together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import core
from retrograd.lifecycle.site import user_level
from retrograd.notices import warn_once
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Ints, Namespace
from retrograd.ops.registry import RECORDED, composite, function_only, inner_op, method_only
from retrograd.ops.sizes import Shape, as_integers, as_size, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms, sized
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


@inner_op(input=lambda m, g, input_shape: m.sum_to_size(g, input_shape), view="always")
def expand(xp: Namespace, input: Array, size: Shape) -> Array:
    """A view with size-one dimensions repeated; `size` is complete (no -1)."""
    shape, strides = input.shape, input.strides
    if not shape:
        found: Shape = (0,) * len(size)
    else:
        lead = len(size) - len(shape)
        steps: list[int] = []
        for place in range(len(size) - 1, -1, -1):
            if place >= lead:
                old, step = shape[place - lead], strides[place - lead]
            else:
                old, step = 1, size[place + 1] * steps[-1]
            if old != size[place]:
                if old != 1:  # in a gradient that a program gave to a node
                    raise _unexpandable(size, shape, place)
                step = 0
            steps.append(step)
        found = tuple(steps[::-1])
    result = xp.strided(input, size, found)
    return xp.read_only(result) if 0 in found else result  # one element in many places


def expanded_size(tensor: Tensor, size: Shape) -> Shape:
    """`size` with -1 replaced by the tensor's own sizes, checked against them."""
    shape = tensor._array.shape
    lead = len(size) - len(shape)
    if lead < 0:
        name = tensor.dtype.tensor_name
        raise errors.runtime_error(
            f"expand({name}{{{list(shape)}}}, size={list(size)}): the number of sizes provided "
            f"({len(size)}) must be greater or equal to the number of dimensions in the tensor "
            f"({len(shape)})",
            code="RG201",
        )
    found = list(size)
    for place in range(len(size) - 1, -1, -1):
        wanted = size[place]
        if place < lead:
            if wanted < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({wanted}) isn't allowed in a leading, "
                    f"non-existing dimension {place}"
                )
            continue
        own = shape[place - lead]
        if wanted == -1:
            found[place] = own
        elif wanted != own and (own != 1 or wanted < 0):
            raise _unexpandable(size, shape, place)
    return tuple(found)


def _unexpandable(size: Shape, shape: Shape, place: int) -> Exception:
    own = shape[place - len(size) + len(shape)]
    return errors.runtime_error(
        f"The expanded size of the tensor ({size[place]}) must match the existing size "
        f"({own}) at non-singleton dimension {place}.  Target sizes: {list(size)}.  "
        f"Tensor sizes: {list(shape)}",
        code="RG201",
    )


@method_only(
    samples=lambda: [
        Sample(T(3, 1), 3, 4, dtypes=_MOVED),
        Sample(T(3, 1), -1, 4),
        Sample(T(3), 2, 3),
        Sample(T(3, 1), (2, -1, 4)),
        Sample(T(), 3),
        Sample(T(), ()),
        Sample(T(1), 0),
        Sample(T(1, 3), 1, 1, 3),
        Sample(T(3, 4), 2),
        Sample(T(3, 4), 5, 4),
        Sample(T(3, 4), -1, 3, 4),
        Sample(T(3, 4), 3, -2),
    ]
)
@forms(*sized(before="self: Tensor"))
@core.shortcut("expand", expand)
def _expand(self: Tensor, *size: Ints, implicit: bool = False, **named: object) -> Tensor:
    """A view with size-one dimensions repeated to `size`; -1 keeps a dimension.

    >>> torch.zeros(3, 1).expand(-1, 4).shape
    torch.Size([3, 4])
    """
    wanted = as_size("expand", "size", (named["size"],) if named else size)
    return RECORDED.expand(self, expanded_size(self, wanted))


@method_only(samples=lambda: [Sample(T(3, 1), T(2, 3, 4))])
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """A view expanded to the shape of `other`."""
    require_tensor("expand_as", other, "other")
    return _expand(self, other._array.shape)


@function_only(
    samples=lambda: [Sample(T(3, 1), (2, 3, 4)), Sample(T(), (2,)), Sample(T(3), (2, 4))]
)
def broadcast_to(input: Tensor, size: Ints) -> Tensor:
    """A view expanded to `size`."""
    require_tensor("broadcast_to", input)
    return _expand(input, as_integers("broadcast_to", "size", 2, size))


@method_only(samples=lambda: [Sample(T(3, 1), 2, 3, 4), Sample(T(3, 1), (3, 2))])
def _broadcast_to_method(self: Tensor, *size: Ints) -> Tensor:
    """A view expanded to `size`."""
    return _expand(self, *size)


# ----------------------------------------------------------------------- shapes come together


@function_only(
    samples=lambda: [
        Sample((2, 1), (3,)),
        Sample((), (2, 3)),
        Sample(2, (3, 2)),
        Sample(),
        Sample((2, 1), (3, 3)),
        Sample((-1, 2)),
    ]
)
def broadcast_shapes(*shapes: Ints) -> Size:
    """The shape that tensors of the given shapes broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    found = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max((len(shape) for shape in found), default=0)
    for number, shape in enumerate(found):
        for place in range(-1, -1 - len(shape), -1):
            size = shape[place]
            if size < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if size == 1 or size == result[place]:
                continue
            if result[place] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {size} at {place}! "
                    f"Mismatching argument at index {number} had {shape}; but expected shape "
                    f"should be broadcastable to {result}"
                )
            result[place] = size
    return Size(result)


def common_shape(shapes: list[Shape]) -> Shape:
    """The broadcast shape of tensors, with the error of an elementwise op where there is none."""
    result: Shape = ()
    for shape in shapes:
        long, short = (result, shape) if len(result) >= len(shape) else (shape, result)
        merged = list(long)
        for place in range(-1, -1 - len(short), -1):
            a, b = long[place], short[place]
            if a != b and 1 not in (a, b):
                raise errors.broadcast(result, shape)
            merged[place] = b if a == 1 else a
        result = tuple(merged)
    return result


@function_only(
    samples=lambda: [
        Sample(T(3, 1), T(4)),
        Sample(T(), T(2, 3), T(1, 1, 3)),
        Sample([T(2, 1), T(3)]),
        Sample(T(3, 4), T(2)),
        Sample(),
    ]
)
@forms(
    "(*tensors: Tensor) -> tuple[Tensor, ...]",
    "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
)
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to the shape they have together, or as it is if it has it."""
    for place, item in enumerate(tensors):
        if not isinstance(item, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(item).__name__}"
            )
    shape = common_shape([item._array.shape for item in tensors])
    return tuple(
        item if item._array.shape == shape else RECORDED.expand(item, shape) for item in tensors
    )


def _is_list(value: object) -> bool:
    return isinstance(value, (tuple, list))


def _at_least(name: str, lift: Callable[[Tensor], Tensor]) -> None:
    """`atleast_1d` and its relatives: a tensor, several tensors or a sequence of them."""

    @forms(
        "(tensor: Tensor, /) -> Tensor",
        "(first: Tensor, second: Tensor, /, *tensors: Tensor) -> tuple[Tensor, ...]",
        "(tensors: Sequence[Tensor], /) -> tuple[Tensor, ...]",
    )
    def atleast(*tensors: Any) -> tuple[Tensor, ...] | Tensor:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return lift(tensors[0])
        items = tuple(tensors[0]) if len(tensors) == 1 and _is_list(tensors[0]) else tensors
        if items is tensors and len(tensors) == 1:
            raise errors.invalid_combination(name, tensors)
        errors.require_list_of_tensors(items)
        return tuple(lift(item) for item in items)

    atleast.__doc__ = f"The tensors, given dimensions of size one until they have {name[8]}."
    composite(
        name=name,
        methods=(),
        samples=lambda: [
            *(Sample(T(*shape)) for shape in ((), (3,), (2, 3), (2, 3, 2))),
            Sample(T(), T(3)),
            Sample([T(), T(2, 2)]),
        ],
    )(atleast)


def _lift_1d(tensor: Tensor) -> Tensor:
    return RECORDED.reshape(tensor, (1,)) if tensor._array.ndim == 0 else tensor


def _lift_2d(tensor: Tensor) -> Tensor:
    if tensor._array.ndim == 0:
        return RECORDED.reshape(tensor, (1, 1))
    return RECORDED.unsqueeze(tensor, 0) if tensor._array.ndim == 1 else tensor


def _lift_3d(tensor: Tensor) -> Tensor:
    ndim = tensor._array.ndim
    if ndim == 0:
        return RECORDED.reshape(tensor, (1, 1, 1))
    if ndim == 1:
        return RECORDED.unsqueeze(RECORDED.unsqueeze(tensor, 0), -1)
    return RECORDED.unsqueeze(tensor, -1) if ndim == 2 else tensor


_at_least("atleast_1d", _lift_1d)
_at_least("atleast_2d", _lift_2d)
_at_least("atleast_3d", _lift_3d)


@function_only(
    samples=lambda: [
        Sample(T(3), T(2), indexing="ij"),
        Sample(T(3), T(2), indexing="xy"),
        Sample(T(3), T(2), T(4)),
        Sample([T(3), T()]),
        Sample(T(3)),
        Sample(T(3), indexing="xy"),
        Sample(T(3), T(2, 2)),
        Sample(T(3), T(2, dtype="int64"), grad=False),
        Sample(T(3), T(2), indexing="other"),
        Sample(),
    ]
)
@forms(
    "(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]",
    "(tensors: Sequence[Tensor], /, *, indexing: str | None = None) -> tuple[Tensor, ...]",
)
def meshgrid(*tensors: Tensor, indexing: str | None = None) -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor per dimension, as expanded views.

    >>> x, y = torch.meshgrid(torch.arange(3), torch.arange(2), indexing="ij")
    >>> x.shape
    torch.Size([3, 2])
    """
    items = list(tensors[0] if len(tensors) == 1 and _is_list(tensors[0]) else tensors)
    if not items:
        raise errors.runtime_error("meshgrid expects a non-empty TensorList", code="RG206")
    errors.require_list_of_tensors(items)
    if indexing is not None and not isinstance(indexing, str):
        raise TypeError(
            f"meshgrid(): argument 'indexing' must be str, not {errors.type_name(indexing)}"
        )
    for item in items:
        if item._array.dtype != items[0]._array.dtype:
            raise errors.runtime_error(
                "meshgrid expects all tensors to have the same dtype", code="RG301"
            )
    if indexing is None:
        warn_once(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing "
            "argument.",
            user_level(),
        )
    elif indexing not in ("ij", "xy"):
        raise RuntimeError(
            f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    for item in items:
        if item._array.ndim > 1:
            raise RuntimeError(
                "torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: "
                f"a tensor of shape {list(item._array.shape)}"
            )
    places = list(range(len(items)))
    if indexing == "xy" and len(items) >= 2:
        places[0], places[1] = 1, 0
    shape = [0] * len(items)
    for item, place in zip(items, places, strict=True):
        shape[place] = item._array.size
    grids: list[Tensor] = []
    for item, place in zip(items, places, strict=True):
        alone = tuple(size if dim == place else 1 for dim, size in enumerate(shape))
        grids.append(RECORDED.expand(RECORDED.view(item, alone), tuple(shape)))
    return tuple(grids)
