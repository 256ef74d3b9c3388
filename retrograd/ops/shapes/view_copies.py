"""Copies of what views show: `view_copy`, `select_copy` and their relatives.

Each is the view, copied into new memory, row by row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from retrograd import dtypes
from retrograd.ops.kinds import Ints
from retrograd.ops.linalg.matmul import finish
from retrograd.ops.registry import RECORDED, composite
from retrograd.samples import Sample, T
from retrograd.signatures import forms
from retrograd.tensor import Tensor
from retrograd.tensor.size import contiguous_format


def _copied(view: Any) -> Any:
    if isinstance(view, (tuple, list)):
        return tuple(_copied(part) for part in view)
    return view.clone(memory_format=contiguous_format)


def _declare(
    name: str, view: Callable[..., Any], doc: str, samples: Any, out: str | None = None
) -> None:
    public = f"{name}_copy"

    def copy(input: Tensor, *args: Any, out: Tensor | None = None, **options: Any) -> Any:
        result = _copied(view(input, *args, **options))
        if isinstance(result, tuple):
            return result if out is None else _write_pieces(public, result, out)
        return finish(public, result, out)

    copy.__doc__ = doc
    given, made = _SEVERAL if public in _FILLING else ("Tensor", "Tensor")
    form = f"(input: Tensor, *args: Any, out: {given} | None = None, **options: Any) -> {made}"
    forms(form)(copy)
    composite(name=public, methods=(), samples=samples, out=out)(copy)


_SEVERAL = "Sequence[Tensor]", "tuple[Tensor, ...]"

# What PyTorch calls the functions that fill several tensors, in their messages.
_FILLING = {
    "split_copy": "split_copy_Tensor_out()",
    "split_with_sizes_copy": "split_with_sizes_copy_out",
    "unbind_copy": "unbind_copy_int_out",
}


def _write_pieces(name: str, pieces: tuple[Tensor, ...], out: object) -> None:
    """Fill the tensors of `out`; as in PyTorch, such a call returns nothing."""
    if not isinstance(out, (tuple, list)):
        raise TypeError(
            f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}"
        )
    if len(out) != len(pieces):
        raise RuntimeError(
            f"{_FILLING[name]} expected an out= argument of size {len(pieces)}, got size {len(out)}"
        )
    for target, piece in zip(out, pieces, strict=True):
        if name == "split_copy":
            target.copy_(piece)
        else:
            finish(name, piece, target)


def _slice(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    return RECORDED.slice(input, dim, start, end, step)


def _view(input: Tensor, size: Ints) -> Tensor:
    if isinstance(size, dtypes.dtype):
        return input.view(size)
    # a copy may have any size that has as many elements
    return input.contiguous().view(size)


_declare("alias", RECORDED._alias, "A copy.", lambda: [Sample(T(2, 3)), Sample(T(0))], "structured")
_declare(
    "as_strided",
    lambda input, *args, **options: input.as_strided(*args, **options),
    "A copy of the region with these sizes and strides.",
    # with gradients: PyTorch's rule reads the memory behind a strided input
    lambda: [Sample(T(3, 4), (2, 2), (1, 2), grad=False)],
)
_declare(
    "diagonal",
    lambda input, *args, **options: input.diagonal(*args, **options),
    "A copy of a diagonal.",
    lambda: [Sample(T(3, 4)), Sample(T(2, 3, 4), 1, 0, 2), Sample(T(3, 4), offset=-1)],
    out="structured",
)
_declare(
    "expand",
    lambda input, size, implicit=False: input.expand(size),
    "A copy in which dimensions of size one are repeated.",
    lambda: [
        Sample(T(3, 1), (2, 3, 4)),
        Sample(T(3), (-1,)),
        Sample(T(3), (4,), error=(RuntimeError, "The expanded size")),
    ],
)
_declare(
    "permute",
    lambda input, dims: input.permute(dims),
    "A copy with the dimensions in another order.",
    lambda: [
        Sample(T(2, 3, 4), (2, 0, 1)),
        Sample(T(2, 3), (0, 0), error=(RuntimeError, "permute(): ")),
    ],
)
_declare(
    "select",
    lambda input, dim, index: input.select(dim, index),
    "A copy of one entry along a dimension.",
    lambda: [
        Sample(T(3, 4), 0, 1),
        Sample(T(3, 4), -1, -1),
        Sample(T(3), 0, 5, error=(IndexError, "select(): ")),
    ],
)
_declare(
    "slice",
    _slice,
    "A copy of the entries from `start` to `end` along a dimension.",
    lambda: [Sample(T(5, 4), 0, 1, 4, 2), Sample(T(5)), Sample(T(5), 0, -2)],
    out="structured",
)
_declare(
    "split",
    lambda input, split_size, dim=0: input.split(split_size, dim),
    "Copies of pieces of equal size.",
    lambda: [Sample(T(5, 4), 2), Sample(T(5, 4), 3, 1)],
)
_declare(
    "split_with_sizes",
    lambda input, split_sizes, dim=0: input.split_with_sizes(split_sizes, dim),
    "Copies of pieces of these sizes.",
    lambda: [
        Sample(T(5, 4), (2, 3)),
        Sample(T(5, 4), (1, 3), 1),
        Sample(T(5), (1, 3), error=(RuntimeError, "split_with")),
    ],
)
_declare(
    "squeeze",
    lambda input, *dim, **options: input.squeeze(*dim, **options),
    "A copy without dimensions of size one.",
    lambda: [Sample(T(1, 3, 1)), Sample(T(1, 3, 1), 0), Sample(T(1, 3, 1), (0, 2))],
    out="structured",
)
_declare(
    "t",
    lambda input: input.t(),
    "A transposed copy.",
    lambda: [Sample(T(2, 3)), Sample(T(2))],
    out="structured",
)
_declare(
    "transpose",
    lambda input, dim0, dim1: input.transpose(dim0, dim1),
    "A copy with two dimensions exchanged.",
    lambda: [Sample(T(2, 3, 4), 0, 2), Sample(T(2, 3), 0, 2, error=(IndexError, "Dimension "))],
)
_declare(
    "unbind",
    lambda input, dim=0: input.unbind(dim),
    "Copies of the entries along a dimension.",
    lambda: [Sample(T(3, 4)), Sample(T(3, 4), 1)],
)
_declare(
    "unfold",
    lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "A copy of all windows along a dimension.",
    lambda: [Sample(T(6, 2), 0, 3, 2), Sample(T(6), 0, 7, 1, error=(RuntimeError, "maximum size"))],
)
_declare(
    "unsqueeze",
    lambda input, dim: input.unsqueeze(dim),
    "A copy with a new dimension of size one.",
    lambda: [
        Sample(T(3), 0),
        Sample(T(3, 4), -1),
        Sample(T(3), 3, error=(IndexError, "Dimension out")),
    ],
    out="structured",
)
_declare(
    "view_as_complex",
    lambda input: RECORDED.view_as_complex(input.contiguous()),
    "A complex copy of pairs of numbers.",
    # PyTorch does not differentiate this one, nor take pairs that lie apart
    lambda: [
        Sample(T(3, 2), grad=False, dtypes=("float32",)),
        Sample(T(3), grad=False, error=(RuntimeError, "Tensor must have a last dimension of")),
    ],
)
_declare(
    "view_as_real",
    RECORDED.view_as_real,
    "A copy of complex numbers as pairs.",
    lambda: [Sample(T(3), dtypes=("complex64", "complex128"))],
)
_declare(
    "view",
    _view,
    "A copy with another size or, given a dtype, with its bytes read as that.",
    lambda: [
        Sample(T(3, 4), (2, 6)),
        Sample(T(3, 4), (-1,)),
        Sample(T(3, 4), (5,), error=(RuntimeError, "shape ")),
    ],
)


@composite(
    samples=lambda: [
        Sample(T(5, 4), 0, 1, 3),
        Sample(T(5, 4), -1, -2, 2, grad=False),
        Sample(T(5), 0, 3, 0),
        Sample(T(5), 0, 3, 4, error=(RuntimeError, "start (3) + length (4) exceeds dimension")),
    ]
)
def narrow_copy(
    input: Tensor, dim: int, start: int, length: int, *, out: Tensor | None = None
) -> Tensor:
    """A copy of `length` entries along a dimension, from `start`.

    >>> torch.arange(5).narrow_copy(0, 1, 2)
    tensor([1, 2])
    """
    result: Tensor = _copied(input.narrow(dim, start, length))
    return finish("narrow_copy", result, out)
