"""Products of more than two sizes of things: outer, tensordot, kron, cross, chains of matrices."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import prod
from typing import Any

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.linalg.matmul import finish, matmul
from retrograd.ops.linalg.matrices import batch_shape
from retrograd.ops.linalg.products import c_name, type_name
from retrograd.ops.registry import (
    RECORDED,
    attach,
    composite,
    function_only,
    functional,
    inner_op,
    linalg_function,
    table_entry,
)
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_FIELDS = (*FLOATS, *COMPLEX)

attach(matmul, namespace="linalg", public=("matmul",))


def _check_tensors(function: str, **values: Tensor) -> None:
    for position, (name, value) in enumerate(values.items(), 1):
        if not isinstance(value, Tensor):
            raise errors.argument_type(function, name, position, "Tensor", value)


# --------------------------------------------------------------------------- outer, inner, dots


def _outer(input: Tensor, vec2: Tensor) -> Tensor:
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector._array.ndim != 1:
            raise RuntimeError(
                f"outer: Expected 1-D argument {name}, but got {vector._array.ndim}-D"
            )
    column = RECORDED.reshape(input, (input._array.size, 1))
    return RECORDED.mul(column, vec2)


table_entry("outer", lambda xp, a, b: xp.outer(a, b), _outer)


@composite(
    public=("outer", "ger"),
    samples=lambda: [
        Sample(T(3), T(2), dtypes=(*FLOATS, *HALVES, *COMPLEX)),
        Sample(T(0), T(2)),
        Sample(T(3), T(2, dtype="int64")),
        Sample(T(3, dtype="bool"), T(2, dtype="bool"), grad=False),
        Sample(T(3, 3), T(2), error=(RuntimeError, "outer: Expected 1-D argument self, but")),
        Sample(T(3), T(), error=(RuntimeError, "outer: Expected 1-D argument vec2, but")),
    ],
)
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of an element of one vector and an element of another.

    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    _check_tensors("outer", input=input, vec2=vec2)
    return finish("outer", _outer(input, vec2), out)


@composite(
    samples=lambda: [
        Sample(T(3), T(3), dtypes=_FIELDS),
        Sample(T(2, 3), T(4, 3), dtypes=_FIELDS),
        Sample(T(2, 3), T(3)),
        Sample(T(2, 2, 3), T(4, 3)),
        Sample(T(), T(2, 3)),
        Sample(T(3), T()),
        Sample(T(0), T(0)),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(2, 3), T(4), error=(RuntimeError, "inner() the last dimension must match")),
        Sample(T(2, 3), T(3, dtype="int64"), error=(RuntimeError, "both inputs should have")),
    ],
)
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimension of both tensors."""
    _check_tensors("inner", input=input, other=other)
    a, b = input._array, other._array
    if a.ndim == 0 or b.ndim == 0:
        return finish("inner", RECORDED.mul(input, other), out)
    if a.shape[-1] != b.shape[-1]:
        raise errors.runtime_error(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(a.shape)} and {list(b.shape)}",
            code="RG202",
        )
    return finish("inner", _tensordot(input, other, (-1,), (-1,)), out)


@linalg_function(
    samples=lambda: [
        Sample(T(3), T(3), dtypes=_FIELDS),
        Sample(T(2, 3), T(2, 3), dtypes=(*_FIELDS, *HALVES)),
        Sample(T(2, 3), T(3)),
        Sample(T(2, 3), T(2, 1), dim=0),
        Sample(T(), T(2)),
        Sample(T(2, 3), T(2, 4), error=(RuntimeError, "The size of tensor a (3)")),
        Sample(T(2), T(2, dtype="int64"), error=(RuntimeError, "linalg.vecdot: Expected x")),
        Sample(T(2, dtype="int64"), T(2, dtype="int64"), grad=False),
    ],
    autocast="lower",
)
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """Sums of ``conj(x) * y`` along a dimension, with broadcasting."""
    _check_tensors("linalg_vecdot", x=x, y=y)
    if x._array.dtype not in dtypes.DIFFERENTIABLE:
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. Got "
            f"{type_name(x._array)}"
        )
    if x._array.dtype is not y._array.dtype:
        raise errors.runtime_error(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{type_name(x._array)} and y of type {type_name(y._array)} instead",
            code="RG301",
        )
    return finish("linalg_vecdot", RECORDED.sum(RECORDED.mul(x.conj(), y), dim, False), out)


# ------------------------------------------------------------------------------------ tensordot


def _tensordot(a: Tensor, b: Tensor, dims_a: Sequence[int], dims_b: Sequence[int]) -> Tensor:
    if len(dims_a) != len(dims_b):
        raise RuntimeError("both dimension lists should have same length")
    if a._array.dtype is not b._array.dtype:
        raise errors.runtime_error("both inputs should have same dtype", code="RG301")
    for first, second in zip(dims_a, dims_b, strict=True):
        one = a._array.shape[wrap_dim(first, a._array.ndim)]
        two = b._array.shape[wrap_dim(second, b._array.ndim)]
        if one == two:
            continue
        # size one broadcasts: the other operand is summed over its dimension
        if two == 1:
            a = RECORDED.sum(a, first, True)
        elif one == 1:
            b = RECORDED.sum(b, second, True)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {one} in dim {first} and "
                f"second has size {two} in dim {second}"
            )
    over_a = _distinct(dims_a, a._array.ndim)
    over_b = _distinct(dims_b, b._array.ndim)
    left = tuple(d for d in range(a._array.ndim) if d not in over_a)
    right = tuple(d for d in range(b._array.ndim) if d not in over_b)
    shape_a = tuple(a._array.shape[d] for d in left)
    shape_b = tuple(b._array.shape[d] for d in right)
    count = prod(a._array.shape[d] for d in over_a)
    a = RECORDED.permute(a, left + over_a)
    b = RECORDED.permute(b, over_b + right)
    if not left and not right:
        if len(over_a) != 1:
            a, b = RECORDED.reshape(a, (count,)), RECORDED.reshape(b, (count,))
        product = RECORDED.dot(a, b)
    else:
        product = RECORDED.mm(
            RECORDED.reshape(a, (prod(shape_a), count)), RECORDED.reshape(b, (count, prod(shape_b)))
        )
    return RECORDED.reshape(product, shape_a + shape_b)


def _distinct(dims: Sequence[int], ndim: int) -> tuple[int, ...]:
    found = tuple(wrap_dim(d, ndim) for d in dims)
    for dim in found:
        if found.count(dim) > 1:
            raise errors.runtime_error(
                f"dim {dim} appears multiple times in the list of dims", code="RG205"
            )
    return found


@function_only(
    samples=lambda: [
        Sample(T(2, 3, 4), T(3, 4, 5), dtypes=_FIELDS),
        Sample(T(2, 3, 4), T(3, 4, 5), dims=2),
        Sample(T(2, 3, 4), T(4, 3, 5), dims=([1, 2], [1, 0])),
        Sample(T(2, 3, 4), T(4, 3, 5), ([-2], [1])),
        Sample(T(2), T(3), 0),
        Sample(T(2, 3), T(2, 3), ((0, 1), (0, 1))),
        Sample(T(2, 1), T(3, 2), 1),
        Sample(T(2, 3), T(1, 2), 1),
        Sample(T(2, 0), T(0, 2), 1),
        Sample(T(2, 3, dtype="int64"), T(3, 2, dtype="int64"), 1, grad=False),
        Sample(T(2, 3), T(4, 3), 1, error=(RuntimeError, "contracted dimensions need to match")),
        Sample(T(2, 3), T(4, 3), ([0, 1], [1]), error=(RuntimeError, "both dimension lists")),
        Sample(T(2, 3), T(4, 3), -1, error=(RuntimeError, "tensordot expects dims >= 0")),
        Sample(T(2, 3), T(4, 3), 3, error=(RuntimeError, "tensordot expects dims < ndim_a")),
        Sample(T(2, 3), T(3, 3, dtype="int64"), 1, error=(RuntimeError, "both inputs should")),
        Sample(T(2, 2), T(2, 2), ([0, 0], [0, 0]), error=(RuntimeError, "dim 0 appears mult")),
    ]
)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Sums of products over pairs of dimensions: the last `dims` of `a` with the first of `b`,
    or those that two lists name.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    _check_tensors("tensordot", a=a, b=b)
    if not isinstance(dims, (tuple, list, Tensor, int)):
        raise RuntimeError(
            "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] "
            f"containing two lists, but got dims={dims}"
        )
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not (isinstance(a, Tensor) and isinstance(b, Tensor)):
            raise errors.without("dim", a, b)
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._array.ndim, b._array.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a: Sequence[int] = range(-dims, 0)
        dims_b: Sequence[int] = range(dims)
    else:
        dims_a, dims_b = dims
        dims_a = (dims_a,) if isinstance(dims_a, int) else tuple(int(d) for d in dims_a)
        dims_b = (dims_b,) if isinstance(dims_b, int) else tuple(int(d) for d in dims_b)
    return finish("tensordot", _tensordot(a, b, dims_a, dims_b), out)


# --------------------------------------------------------------------------------- kron, cross


@composite(
    samples=lambda: [
        Sample(T(2, 3), T(2, 2), dtypes=_FIELDS),
        Sample(T(2), T(3)),
        Sample(T(2), T(3, 2)),
        Sample(T(2, 1, 2), T(3)),
        Sample(T(), T(3)),
        Sample(T(0, 2), T(3, 1)),
        Sample(T(2), T(3, dtype="int64")),
        Sample(T(2, dtype="bool"), T(3, dtype="int64"), grad=False),
    ],
)
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Kronecker product: every element of `input` times the whole of `other`, side by side."""
    _check_tensors("kron", input=input, other=other)
    ndim = max(input._array.ndim, other._array.ndim)
    first = (1,) * (ndim - input._array.ndim) + input._array.shape
    second = (1,) * (ndim - other._array.ndim) + other._array.shape
    a = RECORDED.reshape(input, tuple(n for size in first for n in (size, 1)))
    b = RECORDED.reshape(other, tuple(n for size in second for n in (1, size)))
    shape = tuple(x * y for x, y in zip(first, second, strict=True))
    return finish("kron", RECORDED._unsafe_view(RECORDED.mul(a, b), shape), out)


def _check_cross(input: Array, other: Array, *, dim: int) -> None:
    if input.dtype is dtypes.B8:
        raise errors.not_implemented_for("cross", input.dtype)
    if input.dtype is not other.dtype:
        raise errors.runtime_error(
            f"expected scalar type {type_name(input)} but found {type_name(other)}", code="RG301"
        )


@inner_op(
    input=lambda m, g, other, dim: m.linalg_cross(other, g, dim=dim),
    other=lambda m, g, input, dim: m.linalg_cross(g, input, dim=dim),
    check=_check_cross,
    out="structured",
    forward="multilinear",
)
def linalg_cross(xp: Namespace, input: Array, other: Array, *, dim: int = -1) -> Array:
    """Cross products of the vectors of length three along `dim`."""
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, input.ndim)
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and "
            f"{other.shape[axis]}"
        )
    result = xp.empty(batch_shape(input.shape, other.shape), input.dtype)
    a, b, c = (xp.moveaxis(array, axis, 0) for array in (input, other, result))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        c[i, ...] = a[j] * b[k] - a[k] * b[j]
    return result


def _cross_samples() -> list[Sample]:
    return [
        Sample(T(2, 3), T(2, 3), dim=-1, dtypes=_FIELDS),
        Sample(T(3), T(3), dim=0),
        Sample(T(3, 2, 3), T(3, 2, 3), dim=0),
        Sample(T(1, 3), T(4, 3), dim=1),
        Sample(T(0, 3), T(0, 3), dim=1),
        Sample(T(3, dtype="int64"), T(3, dtype="int64"), dim=0, grad=False),
        Sample(T(3, dtype="bool"), T(3, dtype="bool"), dim=0, grad=False),
        Sample(T(2, 4), T(2, 4), dim=1, error=(RuntimeError, "linalg.cross: inputs dimension")),
        Sample(T(3), T(2, 3), dim=0, error=(RuntimeError, "linalg.cross: inputs must have")),
        Sample(T(2, 3), T(4, 3), dim=1, error=(RuntimeError, "The size of tensor a (2)")),
        Sample(T(2, 3), T(2, 3), dim=2, error=(IndexError, "Dimension out of range")),
        Sample(T(3), T(3, dtype="int64"), dim=0, error=(RuntimeError, "expected scalar type")),
    ]


@linalg_function(samples=_cross_samples)
def _linalg_cross(
    input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None
) -> Tensor:
    """Cross products of the vectors of length three along `dim`."""
    return RECORDED.linalg_cross(input, other, dim=dim, out=out)


@composite(
    samples=lambda: [
        *_cross_samples(),
        Sample(T(3, 2), T(3, 2)),
        Sample(T(2, 3, 3), T(1, 3, 3)),
        Sample(T(2, 4), T(2, 4), error=(RuntimeError, "no dimension of size 3 in input")),
    ],
    out="structured",
)
def cross(
    input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Cross products along `dim`, by default the first dimension of size three.

    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    _check_tensors("cross", input=input, other=other)
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass "
            "the dim explicitly or simply use torch.linalg.cross.\nThe default value of dim will "
            "change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=user_level(),
        )
        if 3 not in input._array.shape:
            raise RuntimeError("no dimension of size 3 in input")
        dim = input._array.shape.index(3)
    return RECORDED.linalg_cross(input, other, dim=dim, out=out)


# ------------------------------------------------------------------------------ chains, bilinear


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each run (i, j) of the chain so that its product takes least work."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = [
                (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            ]
            cost[i, j], split[i, j] = min(choices)
    return split


def _multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    _check_chain(tensors)
    matrices = list(tensors)
    shape: tuple[int, ...] = ()
    if tensors[0]._array.ndim == 1:
        matrices[0] = RECORDED.unsqueeze(tensors[0], 0)
    else:
        shape += (tensors[0]._array.shape[0],)
    if tensors[-1]._array.ndim == 1:
        matrices[-1] = RECORDED.unsqueeze(tensors[-1], -1)
    else:
        shape += (tensors[-1]._array.shape[1],)
    for i in range(count - 1):
        if matrices[i]._array.shape[1] != matrices[i + 1]._array.shape[0]:
            one, two = matrices[i]._array.shape, matrices[i + 1]._array.shape
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(one)} and {list(two)} "
                "cannot be multiplied"
            )
    sizes = [matrices[0]._array.shape[0], *(x._array.shape[1] for x in matrices)]
    split = _cheapest_splits(sizes)

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        k = split[i, j]
        return RECORDED.mm(product(i, k), product(k + 1, j))

    return RECORDED.view(product(0, count - 1), shape)


def _check_chain(tensors: Sequence[Tensor]) -> None:
    first = tensors[0]._array
    last = len(tensors) - 1
    for place, array in enumerate(x._array for x in tensors):
        if place in (0, last):
            if array.ndim not in (1, 2):
                which = "first" if place == 0 else "last"
                raise RuntimeError(
                    f"multi_dot(): the {which} tensor must be 1D or 2D but got {array.ndim}D"
                )
        elif array.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {place} must be 2D but got {array.ndim}D")
    for place, array in enumerate(x._array for x in tensors):
        if array.dtype is not first.dtype:
            raise errors.runtime_error(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{c_name(first)} and tensor {place} {c_name(array)}",
                code="RG301",
            )


@linalg_function(
    samples=lambda: [
        Sample([T(2, 3), T(3, 4)], dtypes=_FIELDS),
        Sample([T(3), T(3, 4), T(4)]),
        Sample([T(3), T(3)]),
        Sample([T(3, 2), T(2, 4), T(4, 5), T(5, 2)]),
        Sample([T(2, 0), T(0, 3), T(3)]),
        Sample([T(2, 3)], error=(RuntimeError, "multi_dot(): expected at least 2 tensors")),
        Sample([T(2, 3), T(2, 3, 3)], error=(RuntimeError, "multi_dot(): the last tensor")),
        Sample([T(2, 3), T(3), T(3, 3)], error=(RuntimeError, "multi_dot(): tensor 1 must")),
        Sample([T(2, 3), T(4, 3)], error=(RuntimeError, "multi_dot(): tensors 0 and 1 with")),
        Sample([T(2, 3), T(3, 3, dtype="int64")], error=(RuntimeError, "multi_dot(): all ten")),
    ]
)
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Product of two or more matrices, in the order that takes the least work."""
    return finish("linalg_multi_dot", _multi_dot(tensors), out)


@function_only(
    samples=lambda: [
        Sample(T(2, 3), T(3, 4), T(4, 5)),
        Sample(T(2, 3)),
        Sample(T(2, 3), T(4, 3), error=(RuntimeError, "multi_dot(): tensors 0 and 1 with")),
    ]
)
def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """Product of matrices, in the order that takes the least work; use `linalg.multi_dot`."""
    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot instead, which accepts a list of two or more tensors rather than "
        "multiple parameters.",
        UserWarning,
        stacklevel=user_level(),
    )
    errors.require_list_of_tensors(matrices)
    if len(matrices) == 1:
        return matrices[0].clone()
    return finish("chain_matmul", _multi_dot(matrices), out)


@functional(
    samples=lambda: [
        Sample(T(2, 3), T(2, 4), T(5, 3, 4)),
        Sample(T(2, 3), T(2, 4), T(5, 3, 4), T(5)),
        Sample(T(3), T(4), T(5, 3, 4), T(5)),
        Sample(T(2, 2, 3), T(2, 2, 4), T(5, 3, 4), bias=T(5)),
        Sample(T(0, 3), T(0, 4), T(5, 3, 4)),
        Sample(T(2, 3), T(2, 4), T(5, 3, 3), error=(RuntimeError, "bilinear(): input2 size")),
        Sample(T(2, 2), T(2, 4), T(5, 3, 4), error=(RuntimeError, "bilinear(): input1 size")),
        Sample(T(2, 3), T(3, 4), T(5, 3, 4), error=(RuntimeError, "bilinear(): input batch")),
    ],
    autocast="off",
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2`` for every k, plus a bias, along the last dimension."""
    _check_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    one, two, sizes = input1._array.shape, input2._array.shape, weight._array.shape
    operands = {"input1": input1, "input2": input2, "weight": weight}
    if bias is not None:
        operands["bias"] = bias
    if len({operand._array.dtype for operand in operands.values()}) > 1:
        listed = ", ".join(f"{name}: {c_name(x._array)}" for name, x in operands.items())
        raise errors.runtime_error(
            f"All tensors must have the same dtype, got {listed}", code="RG301"
        )
    if len(one) != len(two):
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {len(one)} and {len(two)}"
        )
    for place, (x, y) in enumerate(zip(one[:-1], two[:-1], strict=True)):
        if x != y:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {place}: got {x} and {y}"
            )
    for number, shape in ((1, one), (2, two)):
        if shape[-1] != sizes[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {shape[-1]} but "
                f"expected {sizes[number]}"
            )
    if bias is not None and bias._array.shape[:1] != sizes[:1]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected "
            f"{sizes[0]}"
        )
    count, (outputs, inner1, inner2) = prod(one[:-1]), sizes
    left = RECORDED.reshape(input1, (count, inner1))
    right = RECORDED.reshape(input2, (count, inner2, 1))
    matrix = RECORDED.reshape(RECORDED.permute(weight, (1, 0, 2)), (inner1, outputs * inner2))
    half = RECORDED.reshape(RECORDED.mm(left, matrix), (count, outputs, inner2))
    result: Tensor = RECORDED.reshape(RECORDED.bmm(half, right), (*one[:-1], outputs))
    return result if bias is None else RECORDED.add(result, bias)
