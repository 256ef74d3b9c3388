"""Weight normalization: a tensor as directions and lengths."""

from __future__ import annotations

from retrograd.notices import runtime_error
from retrograd.ops.errors import dimension_range
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.reduction.norms import vector_norm_of
from retrograd.ops.registry import RECORDED, Table, function_only, op
from retrograd.samples import FLOATS, Sample, T
from retrograd.tensor import Tensor


@function_only(
    samples=lambda: [
        Sample(T(3, 4), dtypes=FLOATS),
        *(Sample(T(2, 3, 4), 2, dim) for dim in (0, 1, 2, -1, -2)),
        Sample(T(3, 4), 3, 1),
        Sample(T(3, 4), 1, 0),
        Sample(T(3)),
        Sample(T(3, 4), 2, 2),
    ]
)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which are kept as ones; -1 means over all of them.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), 2, 0)
    tensor([[ 5.],
            [10.]])
    """
    sizes = v._array.shape
    last = len(sizes) - 1
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        rows = v.contiguous().view(sizes[0], -1).norm(pow, 1)
        return rows.view(sizes[0], *(1,) * last)
    if dim == last:
        columns = v.contiguous().view(-1, sizes[last]).norm(pow, 0)
        return columns.view(*(1,) * last, sizes[last])
    if not -last - 1 <= dim <= last:
        raise dimension_range(dim, len(sizes))
    swapped = norm_except_dim(v.transpose(0, dim), pow, 0)
    return swapped.transpose(0, dim)


def _others(ndim: int, dim: int) -> tuple[int, ...]:
    return tuple(axis for axis in range(ndim) if axis != dim % ndim)


def _direction_gradient(m: Table, grad: Tensor, v: Tensor, g: Tensor, dim: int) -> Tensor:
    """What is across the direction, scaled: moving along it changes no length."""
    others = _others(len(v.shape), dim)
    norm = m.linalg_vector_norm(v, 2, others, True)
    along = m.div(m.sum(m.mul(grad, v), others, True), m.mul(norm, norm))
    return m.mul(m.div(g, norm), m.sub(grad, m.mul(v, along)))


def _length_gradient(m: Table, grad: Tensor, v: Tensor, dim: int) -> Tensor:
    others = _others(len(v.shape), dim)
    norm = m.linalg_vector_norm(v, 2, others, True)
    return m.div(m.sum(m.mul(grad, v), others, True), norm)


@op(
    v=_direction_gradient,
    g=_length_gradient,
    aten="_weight_norm_interface",
)
def _weight_norm_interface(xp: Namespace, v: Array, g: Array, dim: int) -> Array:
    """``v`` with the lengths ``g``; `dim` is the first or the last dimension."""
    return v * (g / vector_norm_of(xp, v, 2, _others(v.ndim, dim), True))


@function_only(
    name="_weight_norm",
    samples=lambda: [
        # PyTorch's second derivatives of this op take the norms for constants
        Sample(T(3, 4), T(3, 1), dtypes=FLOATS, second=False),
        Sample(T(3, 4), T(1, 4), 1, second=False),
        Sample(T(2, 3, 4), T(1, 3, 1), 1),
        Sample(T(2, 3, 4), T(1, 1, 4), 2, second=False),
        Sample(T(2, 3, 4), T(2, 1, 1), second=False),
        Sample(T(3, 4), T(), -1),
        Sample(T(3, 4), T(3, 1), 2),
    ],
)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """``v`` scaled so that its norms over all dimensions but `dim` are ``g``.

    >>> torch._weight_norm(torch.tensor([[3.0, 4.0]]), torch.tensor([[1.0]]))
    tensor([[0.6000, 0.8000]])
    """
    last = v.ndim - 1
    if dim in (0, last):
        if g.dtype is not v.dtype:
            raise runtime_error(
                f"expected scalar type {v.dtype.type_name} but found {g.dtype.type_name}",
                code="RG301",
            )
        # any shape of that many lengths will do
        sizes = [v.shape[dim] if axis == dim else 1 for axis in range(last + 1)]
        lengths = g if list(g.shape) == sizes else g.reshape(sizes)
        return RECORDED._weight_norm_interface(v.contiguous(), lengths.contiguous(), dim)
    return v * (g / norm_except_dim(v, 2, dim))
