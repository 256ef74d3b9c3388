"""A tensor cut into views along one dimension: unbind, split, chunk and relatives.

`unbind`, `split` and `split_with_sizes` have one node for all pieces, so the pieces cannot be
written in place; those of `unsafe_split` and its relatives can. `tensor_split` and its relatives
are made of slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from retrograd.ops import errors
from retrograd.ops.kinds import Array, Index, Ints, Namespace, wrap_dim
from retrograd.ops.registry import RECORDED, Table, composite, function_only, method_only, op
from retrograd.ops.sizes import Shape, as_integer, as_integers, require_tensor
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor, tensor_method

_MOVED = (*FLOATS, *HALVES, *COMPLEX)  # dtypes to try where data only moves


# ------------------------------------------------------------------------------------- unbind


def _unbind_gradient(m: Table, parts: list[Tensor], dim: int) -> Tensor:
    given = next(part for part in parts if part is not None)
    return m.stack([m.zeros_like(given) if part is None else part for part in parts], dim)


@op(
    input=lambda m, g, dim: _unbind_gradient(m, g, dim),
    view="always",
    outputs="list",
    samples=lambda: [
        Sample(T(3, 4), dtypes=_MOVED),
        Sample(T(2, 3, 4), 1),
        Sample(T(2, 3), dim=-1),
        Sample(T(3)),
        Sample(T(0, 3)),
        Sample(T()),
        Sample(T(3), 2),
    ],
    aten="unbind.int",
)
def unbind(xp: Namespace, input: Array, dim: int = 0) -> list[Array]:
    """Views of every index of a dimension, without that dimension."""
    if not input.ndim:
        raise errors.explained(
            IndexError("Dimension specified as 0 but tensor has no dimensions"), code="RG205"
        )
    place = wrap_dim(dim, input.ndim)
    around: Index = (slice(None),) * place
    return [input[(*around, index, ...)] for index in range(input.shape[place])]


@tensor_method
def __iter__(self: Tensor) -> Iterator[Tensor]:
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(RECORDED.unbind(self, 0))


@tensor_method
def __len__(self: Tensor) -> int:
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor")
    size: int = self._array.shape[0]
    return size


# -------------------------------------------------------------------------------------- split


def _split_sizes(size: int, split_size: int) -> Shape:
    """The sizes of pieces of `split_size` each, the last one smaller; always at least one piece."""
    whole = [split_size] * (size // split_size if split_size else 0)
    rest = size - sum(whole)
    return tuple([*whole, rest] if rest or not whole else whole)


def _pieces(array: Array, sizes: Shape, place: int) -> list[Array]:
    around = (slice(None),) * place
    found: list[Array] = []
    start = 0
    for size in sizes:
        found.append(array[(*around, slice(start, start + size))])
        start += size
    return found


def _split_gradient(
    m: Table, parts: list[Tensor], shape: Shape, sizes: Shape, place: int
) -> Tensor:
    given = next(part for part in parts if part is not None)
    filled: list[Any] = []
    for part, size in zip(parts, sizes, strict=True):
        if part is None:
            part = m._zeros(given, (*shape[:place], size, *shape[place + 1 :]))
        filled.append(part)
    return m.cat(filled, place)


@op(
    input=lambda m, g, input_shape, split_size, dim: _split_gradient(
        m, g, input_shape, _split_sizes(input_shape[dim], split_size), dim
    ),
    view="always",
    outputs="list",
    aten="split.Tensor",
)
def _split(xp: Namespace, input: Array, split_size: int, dim: int) -> list[Array]:
    return _pieces(input, _split_sizes(input.shape[dim], split_size), dim)


@op(
    input=lambda m, g, input_shape, split_sizes, dim: _split_gradient(
        m, g, input_shape, split_sizes, dim
    ),
    view="always",
    outputs="list",
    aten="split_with_sizes",
)
def _split_with_sizes(xp: Namespace, input: Array, split_sizes: Shape, dim: int) -> list[Array]:
    return _pieces(input, split_sizes, dim)


def _even_place(input: Tensor, split_size: int, dim: int) -> int:
    """The dimension to cut into pieces of one size; raises where that is not possible."""
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    if split_size < 0:
        raise RuntimeError(
            f"split expects split_size be non-negative, but got split_size={split_size}"
        )
    place = wrap_dim(dim, len(shape))
    if split_size == 0 and shape[place]:
        raise RuntimeError(
            "split_size can only be 0 if dimension size is 0, but got dimension size of "
            f"{shape[place]}"
        )
    return place


def _split_evenly(input: Tensor, split_size: int, dim: int) -> tuple[Tensor, ...]:
    place = _even_place(input, split_size, dim)
    return RECORDED._split(input, split_size, place)


@composite(
    samples=lambda: [
        Sample(T(4, 3), [1, 3], dtypes=_MOVED),
        Sample(T(4, 3), (1, 0, 2), 1),
        Sample(T(4, 3), [2, 1], dim=-1),
        Sample(T(0, 2), []),
        Sample(T(4, 3), [1, 1]),
        Sample(T(4, 3), [-1, 5]),
        Sample(T(), [1]),
        Sample(T(3), [3], 2),
    ]
)
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces of the given sizes along a dimension."""
    sizes, place = _sizes_and_place("split_with_sizes", input, split_sizes, dim)
    return RECORDED._split_with_sizes(input, sizes, place)


def _sizes_and_place(name: str, input: Tensor, split_sizes: Ints, dim: int) -> tuple[Shape, int]:
    """The sizes of the pieces and the dimension to cut; raises where they do not fit."""
    require_tensor(name, input)
    sizes = as_integers(name, "split_sizes", 2, split_sizes)
    shape = input._array.shape
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    place = wrap_dim(dim, len(shape))
    if any(size < 0 for size in sizes):
        raise RuntimeError(
            "split_with_sizes expects split_sizes have only non-negative entries, but got "
            f"split_sizes={list(sizes)}"
        )
    if sum(sizes) != shape[place]:
        raise errors.runtime_error(
            f"split_with_sizes expects split_sizes to sum exactly to {shape[place]} (input "
            f"tensor's size at dimension {dim}), but got split_sizes={list(sizes)}",
            code="RG203",
        )
    return sizes, place


@function_only(
    samples=lambda: [
        Sample(T(5, 3), 2, dtypes=_MOVED),
        Sample(T(5, 3), 7),
        Sample(T(5, 3), 1, 1),
        Sample(T(5, 3), [2, 3], dim=0),
        Sample(T(5, 3), (1, 2), -1),
        Sample(T(0, 3), 0),
        Sample(T(5, 3), 0),
        Sample(T(5, 3), -1),
        Sample(T(5, 3), 2, 2),
        Sample(T(5, 3), [2, 2]),
        Sample(T(), 1),
        Sample(T(5), 2.0),
    ]
)
def split(tensor: Tensor, split_size_or_sections: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along a dimension: of one size, or of a list of sizes.

    >>> torch.arange(5).split(2)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    require_tensor("split", tensor, "tensor")
    if isinstance(split_size_or_sections, (tuple, list)):
        return split_with_sizes(tensor, split_size_or_sections, dim)
    try:
        size = as_integer(split_size_or_sections, "split", "split_size", 2)
    except TypeError:
        size = -1
        as_integers("split_with_sizes", "split_sizes", 2, split_size_or_sections)
    return _split_evenly(tensor, size, dim)


@method_only(
    samples=lambda: [Sample(T(5, 3), 2), Sample(T(5, 3), [1, 2], 1), Sample(T(5), split_size=2)]
)
def _split_method(self: Tensor, split_size: Ints, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of pieces along a dimension: of one size, or of a list of sizes."""
    return split(self, split_size, dim)


@composite(
    samples=lambda: [
        Sample(T(5, 3), 2, dtypes=_MOVED),
        Sample(T(5, 3), 7),
        Sample(T(5, 3), 4),
        Sample(T(5, 3), 2, dim=-1),
        Sample(T(0, 3), 2),
        Sample(T(5, 3), 0),
        Sample(T(), 1),
        Sample(T(5), 2.0),
    ]
)
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of at most `chunks` pieces of equal size; the last may be smaller.

    >>> torch.arange(5).chunk(2)
    (tensor([0, 1, 2]), tensor([3, 4]))
    """
    count, size = _count_and_size("chunk", input, chunks, dim)
    if not size:
        return split_with_sizes(input, [0] * count, dim)
    return _split_evenly(input, size, dim)


def _count_and_size(name: str, input: Tensor, chunks: int, dim: int) -> tuple[int, int]:
    """How many chunks are wanted, and the size of each: 0 where there is nothing to cut."""
    require_tensor(name, input)
    count = as_integer(chunks, name, "chunks", 2)
    shape = input._array.shape
    if not shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    if count <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {count}")
    return count, -(-shape[wrap_dim(dim, len(shape))] // count)


# ------------------------------------------------------------------- pieces that may be written

# The pieces share memory with the tensor, but PyTorch does not count them as its views: a write to
# one is not seen by the others. Whoever uses them promises not to need the tensor again.


@op(
    input=lambda m, g, input_shape, split_size, dim: _split_gradient(
        m, g, input_shape, _split_sizes(input_shape[dim], split_size), dim
    ),
    outputs="list",
    half="move",
    holomorphic=False,
    aten="unsafe_split",
)
def _unsafe_split(xp: Namespace, input: Array, split_size: int, dim: int) -> list[Array]:
    return _pieces(input, _split_sizes(input.shape[dim], split_size), dim)


@op(
    input=lambda m, g, input_shape, split_sizes, dim: _split_gradient(
        m, g, input_shape, split_sizes, dim
    ),
    outputs="list",
    half="move",
    holomorphic=False,
    aten="unsafe_split_with_sizes",
)
def _unsafe_split_with_sizes(
    xp: Namespace, input: Array, split_sizes: Shape, dim: int
) -> list[Array]:
    return _pieces(input, split_sizes, dim)


@composite(
    samples=lambda: [
        Sample(T(5, 3), 2, dtypes=_MOVED),
        Sample(T(5, 3), split_size=1, dim=1),
        Sample(T(0, 3), 0),
        Sample(T(5, 3), 0),
        Sample(T(5, 3), 2, 2),
        Sample(T(5), 2.0),
    ]
)
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Like `split`, but the pieces may be written; the tensor must not be used after that."""
    require_tensor("unsafe_split", input)
    size = as_integer(split_size, "unsafe_split", "split_size", 2)
    place = _even_place(input, size, dim)
    return RECORDED._unsafe_split(input, size, place)


@composite(
    samples=lambda: [
        Sample(T(4, 3), [1, 3], dtypes=_MOVED),
        Sample(T(4, 3), (1, 0, 2), 1),
        Sample(T(4, 3), [1, 1]),
        Sample(T(4, 3), [-1, 5]),
        Sample(T(), [1]),
    ]
)
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Like `split_with_sizes`, but the pieces may be written; see `unsafe_split`."""
    sizes, place = _sizes_and_place("unsafe_split_with_sizes", input, split_sizes, dim)
    return RECORDED._unsafe_split_with_sizes(input, sizes, place)


@composite(
    samples=lambda: [
        Sample(T(5, 3), 2, dtypes=_MOVED),
        Sample(T(5, 3), 2, dim=-1),
        Sample(T(0, 3), 2),
        Sample(T(5, 3), 0),
        Sample(T(), 1),
    ]
)
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Like `chunk`, but the pieces may be written; see `unsafe_split`."""
    count, size = _count_and_size("unsafe_chunk", input, chunks, dim)
    if not size:
        return unsafe_split_with_sizes(input, [0] * count, dim)
    return unsafe_split(input, size, dim)


# ------------------------------------------------------------------------------- tensor_split


def _bounds(size: int, sections: int) -> list[tuple[int, int]]:
    """Start and stop of `sections` pieces whose sizes differ by one at most."""
    small, larger = divmod(size, sections)
    found: list[tuple[int, int]] = []
    start = 0
    for number in range(sections):
        stop = start + small + (number < larger)
        found.append((start, stop))
        start = stop
    return found


def _cut(input: Tensor, sections: Any, dim: int) -> tuple[Tensor, ...]:
    """Slices at the given indices, or `sections` slices of about one size."""
    size = input._array.shape[dim]
    if isinstance(sections, int):
        bounds = _bounds(size, sections)
    else:
        stops = [*sections, size]
        bounds = list(zip([0, *sections], stops, strict=True))
    return tuple(RECORDED.slice(input, dim, start, stop, 1) for start, stop in bounds)


def _sections(name: str, given: object) -> Any:
    """A number of sections or a tuple of indices; both may be tensors."""
    if isinstance(given, Tensor):
        kind, ndim = given.dtype, given._array.ndim
        if kind.name != "int64":
            raise errors.runtime_error(
                f"{name} expected tensor_indices_or_sections to have dtype of long, but got "
                f"{kind.type_name}",
                code="RG305",
            )
        if ndim > 1:
            raise RuntimeError(
                f"{name} expected tensor_indices_or_sections to be a zero-dimensional or "
                f"one-dimensional tensor, but got a tensor with {ndim} dims"
            )
        if given._level:
            raise RuntimeError(
                f"Batching rule not implemented for aten::{name}.tensor_indices_or_sections. We "
                "could not generate a fallback."
            )
        if given.is_meta:
            raise errors.runtime_error(
                f"{name} expected tensor_indices_or_sections to be on cpu, but it's on "
                f"{given.device}",
                code="RG308",
            )
        return int(given._array) if not ndim else tuple(given._array.tolist())
    if isinstance(given, (tuple, list)):
        return as_integers(name, "indices", 2, given)
    try:
        return as_integer(given, name, "sections", 2)
    except TypeError:
        raise errors.invalid_combination(name, (given,)) from None


@composite(
    samples=lambda: [
        Sample(T(7, 3), 3, dtypes=_MOVED),
        Sample(T(7, 3), (1, 3)),
        Sample(T(7, 3), [5, 2, 9], 0),
        Sample(T(7, 3), (-3, -1)),
        Sample(T(7, 3), 2, dim=-1),
        Sample(T(3), 5),
        Sample(T(7), T(values=[1, 3], dtype="int64")),
        Sample(T(7), T(values=2, dtype="int64")),
        Sample(T(7), T(values=[1.0])),
        Sample(T(7), 0),
        Sample(T(7), 2, 5),
        Sample(T(), 1),
        Sample(T(7), 2.0),
    ]
)
@forms(
    "(input: Tensor, indices_or_sections: Tensor | int | Sequence[int], dim: int = 0) -> "
    "tuple[Tensor, ...]",
)
def tensor_split(
    input: Tensor,
    indices_or_sections: Tensor | Ints | None = None,
    dim: int = 0,
    *,
    sections: int | None = None,
    indices: Ints | None = None,
    tensor_indices_or_sections: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """Views of pieces: a number of them of about one size, or cut at the given indices.

    >>> torch.arange(5).tensor_split(3)
    (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    """
    require_tensor("tensor_split", input)
    for given in (sections, indices, tensor_indices_or_sections):  # the overloads' own names
        indices_or_sections = indices_or_sections if given is None else given
    pieces = _sections("tensor_split", indices_or_sections)
    shape = input._array.shape
    if not shape:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    place = wrap_dim(dim, len(shape))
    if isinstance(pieces, int) and pieces <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {pieces}")
    return _cut(input, pieces, place)


def _direction(name: str, least: int, dim_of: Callable[[int], int], sample: T) -> None:
    """`hsplit`, `vsplit`, `dsplit`: a fixed dimension that must divide evenly."""

    @forms("(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]")
    def divide(
        input: Tensor, indices_or_sections: Any = None, *, sections: Any = None, indices: Any = None
    ) -> tuple[Tensor, ...]:
        require_tensor(name, input)
        for given in (sections, indices):
            indices_or_sections = indices_or_sections if given is None else given
        shape = input._array.shape
        if len(shape) < least:
            raise RuntimeError(
                f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor "
                f"with {len(shape)} dimensions!"
            )
        pieces = _sections(name, indices_or_sections)
        dim = dim_of(len(shape))
        if isinstance(pieces, int) and (pieces == 0 or shape[dim] % pieces):
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the "
                f"dimension {shape[dim]} is not divisible by the split_size {pieces}!"
            )
        return tensor_split(input, pieces, dim)

    divide.__doc__ = "Views of equal pieces along one dimension, or cut at the given indices."
    composite(
        name=name,
        samples=lambda: [
            Sample(sample, 2),
            Sample(sample, (1, 3)),
            Sample(sample, 3),
            Sample(sample, 0),
            Sample(T(4), 2),
            Sample(T(), 1),
        ],
    )(divide)


_direction("hsplit", 1, lambda ndim: 0 if ndim == 1 else 1, T(3, 4))
_direction("vsplit", 2, lambda ndim: 0, T(4, 3))
_direction("dsplit", 3, lambda ndim: 2, T(2, 3, 4))
