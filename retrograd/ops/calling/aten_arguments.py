"""The arguments of an op as PyTorch passes them below autograd, for who looks at calls there.

Mostly our ops have PyTorch's parameters, in its order. The table here has those that have not.
Arguments at the end that have their default value are left out, sizes and dimensions are lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from typing import Any

from retrograd import dtypes
from retrograd.dtypes import from_numpy_dtype
from retrograd.ops.kinds import Ints
from retrograd.ops.registry import Op
from retrograd.tensor import Tensor
from retrograd.tensor.size import contiguous_format

Call = tuple[tuple[Any, ...], dict[str, Any]]


def aten_arguments(op: Op, args: tuple[object, ...]) -> Call:
    """The positional and the keyword arguments of a call."""
    form = _FORMS.get(op.name)
    if form is not None:
        return form(*args)
    names, keywords, defaults = _parameters(op)
    count = len(names)
    while count and _is_default(args[count - 1], defaults[count - 1]):
        count -= 1
    listed = _LISTED.get(op.name)
    found = [
        _plain(value, name == listed) for value, name in zip(args, names[:count], strict=False)
    ]
    more = {
        name: value
        for name, value, default in zip(
            keywords, args[len(names) :], defaults[len(names) :], strict=True
        )
        if not _is_default(value, default)
    }
    return tuple(found), more


@cache
def _parameters(op: Op) -> tuple[list[str], list[str], list[Any]]:
    """The names of positional parameters, of keyword ones, and the defaults of all."""
    known = _DEFAULTS.get(op.name, {})
    names = [p.name for p in op.plan.parameters]
    count = op.plan.positional
    return names[:count], names[count:], [known.get(p.name, p.default) for p in op.plan.parameters]


def _is_default(value: object, default: object) -> bool:
    if value is None or isinstance(value, Tensor):
        return value is default
    return type(value) is type(default) and bool(value == default)


def _plain(value: object, listed: bool) -> Any:
    if listed and isinstance(value, int):
        return [value]
    return list(value) if isinstance(value, tuple) else value


# parameters that are lists of dimensions in PyTorch, where one may be given here
_LISTED = {
    **dict.fromkeys(("sum", "mean", "amax", "amin", "logsumexp", "linalg_vector_norm"), "dim"),
    **dict.fromkeys(("roll", "flip"), "dims"),
}

# defaults of PyTorch's ops that ours do not have: here the functions around them fill these in
_DEFAULTS: dict[str, dict[str, Any]] = {
    "_split": {"dim": 0},
    "_split_with_sizes": {"dim": 0},
    "embedding": {"padding_idx": -1, "scale_grad_by_freq": False},
    "glu": {"dim": -1},
    "mse_loss": {"reduction": 1},
    "slice": {"step": 1},
}


def _layer_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, layout: Any, eps: float
) -> Call:
    count = layout.grouped[2]
    shape = list(input.shape)
    start = next((d for d in range(len(shape) - 1, -1, -1) if prod(shape[d:]) == count), 0)
    return (input, shape[start:], weight, bias, eps), {}


def _softmax(input: Tensor, dim: int) -> Call:
    return (input, dim, False), {}


def _of_all(input: Tensor, dtype: dtypes.dtype | None) -> Call:
    return (input,), {} if dtype is None else {"dtype": dtype}


def _deviation(input: Tensor, dim: Ints | None, correction: float, keepdim: bool) -> Call:
    args = (input,) if dim is None else (input, _plain(dim, True))
    options = {"correction": correction} if correction != 1 else {}
    return args, {**options, **({"keepdim": True} if keepdim else {})}


def _pool(*defaults: object) -> Callable[..., Call]:
    """A pooling op, whose stride is the kernel's size where none is given."""

    def form(input: Tensor, kernel_size: object, stride: Ints | None, *more: Any) -> Call:
        count = len(more)
        while count and _is_default(more[count - 1], defaults[count - 1]):
            count -= 1
        found = [kernel_size, stride, *more[:count]]
        if not count and stride == kernel_size:
            found.pop()
        return (input, *[_plain(value, False) for value in found]), {}

    return form


def _indices(dims: Sequence[int], tensors: Sequence[object]) -> list[Tensor]:
    found: list[Any] = [None] * (max(dims) + 1)
    for dim, tensor in zip(dims, tensors, strict=False):
        found[dim] = tensor
    return found


def _index(input: Tensor, dims: Any, *tensors: Any) -> Call:
    return (input, _indices(dims, tensors)), {}


def _index_put(input: Tensor, values: Any, dims: Any, accumulate: bool, *tensors: Any) -> Call:
    more = (True,) if accumulate else ()
    return (input, _indices(dims, tensors), values, *more), {}


def _attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float
) -> Call:
    options = {"attn_mask": mask, "scale": scale}
    return (query, key, value), {k: v for k, v in options.items() if v is not None}


_FORMS: dict[str, Callable[..., Call]] = {
    "_attention": _attention,
    "_choose": lambda input, other, condition: ((condition, input, other), {}),
    "_clone_as": lambda input, order: ((input,), {"memory_format": contiguous_format}),
    "_contiguous_copy": lambda input: ((input,), {"memory_format": contiguous_format}),
    "_div_rounded": lambda input, other, mode: ((input, other), {"rounding_mode": mode}),
    "_layer_norm": _layer_norm,
    "_mean_all": _of_all,
    "_polygamma": lambda input, n: ((n, input), {}),
    "_prod_all": _of_all,
    "_round_decimals": lambda input, decimals: ((input,), {"decimals": decimals}),
    "_sum_all": _of_all,
    "_to_dtype": lambda input, dtype, order: ((input,), {"dtype": from_numpy_dtype(dtype)}),
    "avg_pool2d": _pool((0, 0), False, True, None),
    "index": _index,
    "index_put": _index_put,
    "log_softmax": _softmax,
    "max_pool2d_with_indices": _pool((0, 0), (1, 1), False),
    "softmax": _softmax,
    "std": _deviation,
    "std_mean": _deviation,
    "var": _deviation,
    "var_mean": _deviation,
}
