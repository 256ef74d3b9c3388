"""`matmul` and what is made of it: `linear`, `bilinear`. All are compositions, as in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeVar

from retrograd import core
from retrograd.engine.state import STATE
from retrograd.ops import errors
from retrograd.ops.calling.dispatch_inplace import refuse_dual_out, write_out
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.matrices import batch_shape
from retrograd.ops.linalg.product_sums import addmm as _addmm
from retrograd.ops.linalg.products import mm as _mm
from retrograd.ops.registry import RECORDED, attach, composite, functional, op, table_entry
from retrograd.ops.shapes.dimensions import t as _t
from retrograd.ops.shapes.shape import view as _view
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES, *COMPLEX)


def finish(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    """The result of a composition, written into `out` where one was given."""
    if out is None:
        return result
    if result._requires_grad or (out._requires_grad and STATE.grad_enabled):
        raise errors.runtime_error(
            f"{name}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad.",
            code="RG116",
        )
    refuse_dual_out(name, [result, out])
    write_out(name, out, result._array)
    return out


_Results = TypeVar("_Results", bound=tuple[Tensor, ...])


def finish_all(name: str, result: _Results, out: Sequence[Tensor] | None) -> _Results:
    """The results of a composition, written into the tensors of `out` where they were given."""
    if out is None:
        return result
    if isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not Tensor")
    if len(out) != len(result):
        raise TypeError(f"expected tuple of {len(result)} elements but got {len(out)}")
    return type(result)(*(finish(name, x, y) for x, y in zip(result, out, strict=True)))


@op(
    input=lambda m, g: m.unsqueeze(g, 0),
    moves=True,
    node_name="SqueezeBackward4",
    aten="squeeze.dim",
    event="retrograd::only_row",
)
def _only_row(xp: Namespace, input: Array) -> Array:
    """The row of a fresh matrix that has just one; nothing else uses the matrix."""
    return input.reshape(input.shape[1:])


def _matmul_samples() -> list[Sample]:
    shapes = [
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (3,)),
        ((3,), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((1, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((5, 2, 3), (1, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((2, 5, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (5, 3, 4)),
        ((3,), (2, 5, 3, 4)),
        ((2, 5, 2, 3), (3,)),
        ((0, 2, 3), (3, 4)),
        ((2, 0, 3), (2, 3, 4)),
        ((2, 2, 0), (2, 0, 4)),
        ((0, 2, 3), (0, 3, 4)),
    ]
    return [
        *(Sample(T(*a), T(*b), dtypes=(*FLOATS, *COMPLEX)) for a, b in shapes),
        *(Sample(T(*a), T(*b, grad=False)) for a, b in shapes[4:10]),
        *(Sample(T(*a, grad=False), T(*b)) for a, b in shapes[4:10]),
        Sample(T(2, 3), T(3, 4), dtypes=HALVES),
        Sample(T(5, 2, 3), T(5, 3, 4), dtypes=HALVES),
        *(
            Sample(T(*a, dtype=name), T(*b, dtype=name), grad=False)
            for name in ("int64", "int32", "uint8", "bool")
            for a, b in (shapes[0], shapes[1], shapes[3], shapes[9])
        ),
        Sample(T(2, 3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(3), T(4), error=(RuntimeError, "inconsistent tensor size")),
        Sample(T(2, 3), T(4), error=(RuntimeError, "size mismatch, got input (2)")),
        Sample(T(2, 2, 3), T(2, 4, 5), error=(RuntimeError, "Expected size for first two")),
        Sample(T(2, 2, 3), T(3, 3, 5), error=(RuntimeError, "The size of tensor a (2)")),
        Sample(T(2, 2, 3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(), T(3), error=(RuntimeError, "both arguments to matmul need")),
        Sample(T(2, 3), T(3, 2, dtype="int64"), error=(RuntimeError, "expected m1 and m2")),
        Sample(T(2, 3), 3, error=(TypeError, "matmul(): argument 'other' (position 2)")),
    ]


def _folds(tensor1: Tensor, tensor2: Tensor) -> bool:
    """Whether the larger operand is better laid out as one matrix than as a batch of them."""
    first, second = tensor1._array, tensor2._array
    if first.ndim >= second.ndim:
        large, small = first, tensor2
    else:
        large, small = second.swapaxes(-1, -2), tensor1
    if large.ndim < 3 or small._array.ndim > 2:
        return False
    if small._requires_grad:
        return True  # else its gradient would be as large as the whole batch before it is summed
    if first.ndim == 2:
        return False  # the result would have to be copied once more
    if large.size == 0:
        return True
    return all(
        large.strides[i] == large.strides[i + 1] * large.shape[i + 1] for i in range(large.ndim - 2)
    )


def _folded(tensor1: Tensor, tensor2: Tensor) -> Tensor:
    """A batch times a matrix or vector (or the other way round) as one product of matrices."""
    swapped = tensor2._array.ndim > tensor1._array.ndim
    large, small = (tensor2, tensor1) if swapped else (tensor1, tensor2)
    if swapped:
        large = RECORDED.transpose(large, -2, -1)
        if small._array.ndim == 2:
            small = RECORDED.t(small)
    *lead, inner = large._array.shape
    matrix = RECORDED.reshape(large, (prod(lead), inner))
    if small._array.ndim == 1:
        return RECORDED._unsafe_view(RECORDED.mv(matrix, small), tuple(lead))
    shape = (*lead, small._array.shape[1])
    result: Tensor = RECORDED._unsafe_view(RECORDED.mm(matrix, small), shape)
    return RECORDED.transpose(result, -2, -1).contiguous() if swapped else result


def _batched(tensor1: Tensor, tensor2: Tensor) -> Tensor:
    """Both operands expanded to the same batch, then multiplied pair by pair."""
    shape1, shape2 = tensor1._array.shape, tensor2._array.shape
    rows = shape1[-2] if len(shape1) > 1 else 1
    columns = shape2[-1] if len(shape2) > 1 else 1
    lead1, lead2 = shape1[:-2], shape2[:-2]
    if lead1 == lead2:
        lead = lead1
    else:
        lead = batch_shape(lead1, lead2)
    count = prod(lead)
    left = RECORDED.expand(tensor1, (*lead, rows, shape1[-1]))
    left = RECORDED.reshape(left, (count, rows, shape1[-1]))
    inner = shape2[-2] if len(shape2) > 1 else shape2[0]
    if len(shape2) == 1:
        right = RECORDED.reshape(RECORDED.expand(tensor2, (*lead, inner)), (count, inner))
        product = RECORDED.squeeze(RECORDED.bmm(left, RECORDED.unsqueeze(right, 2)), -1)
    else:
        right = RECORDED.expand(tensor2, (*lead, inner, columns))
        product = RECORDED.bmm(left, RECORDED.reshape(right, (count, inner, columns)))
    shape = lead + ((rows,) if len(shape1) > 1 else ()) + ((columns,) if len(shape2) > 1 else ())
    return RECORDED._unsafe_view(product, shape)


def _matmul(input: Tensor, other: Tensor, name: str = "matmul") -> Tensor:
    first, second = input._array.ndim, other._array.ndim
    if first == 2 and second == 2:
        result: Tensor = RECORDED.mm(input, other)
    elif first == 0 or second == 0:
        raise RuntimeError(
            f"both arguments to {name} need to be at least 1D, but they are {first}D and {second}D"
        )
    elif second == 1 and first <= 2:
        result = (RECORDED.dot if first == 1 else RECORDED.mv)(input, other)
    elif first == 1 and second == 2:
        result = RECORDED._only_row(RECORDED.mm(RECORDED.unsqueeze(input, 0), other))
    else:
        if first == second == 3:  # a batch of one: its gradient should not grow into a larger one
            one, two = input._array.shape[0], other._array.shape[0]
            if two == 1 and one != 1 and other._requires_grad:
                other = RECORDED.squeeze(other, 0)
            elif one == 1 and two != 1 and input._requires_grad:
                input = RECORDED.squeeze(input, 0)
        result = (_folded if _folds(input, other) else _batched)(input, other)
    return result


@composite(samples=_matmul_samples, autocast="lower")
@core.shortcut("matmul", _mm)
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Product of matrices, vectors, or batches of them with broadcasting.

    >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3)).shape
    torch.Size([5, 2])
    """
    for position, name, value in ((1, "input", input), (2, "other", other)):
        if not isinstance(value, Tensor):
            raise errors.argument_type("matmul", name, position, "Tensor", value)
    return finish("matmul", _matmul(input, other), out)


@core.shortcut("matmul", _mm)
def _matmul_operator(self: Tensor, other: Tensor) -> Tensor:
    return _matmul(self, other) if isinstance(other, Tensor) else NotImplemented


def _matmul_reflected(self: Tensor, other: Tensor) -> Tensor:
    return _matmul(other, self) if isinstance(other, Tensor) else NotImplemented


attach(_matmul_operator, methods=("__matmul__",), namespace=None)
attach(_matmul_reflected, methods=("__rmatmul__",), namespace=None)
table_entry("matmul", lambda xp, a, b: xp.matmul(a, b), _matmul)


# ------------------------------------------------------------------------------- neural layers


def _linear_samples() -> list[Sample]:
    shapes = ((3,), (2, 3), (5, 2, 3), (2, 5, 2, 3), (0, 3), (2, 0, 3))
    return [
        *(Sample(T(*shape), T(4, 3), dtypes=(*FLOATS, *COMPLEX)) for shape in shapes),
        *(Sample(T(*shape), T(4, 3), T(4), dtypes=(*FLOATS, *COMPLEX)) for shape in shapes),
        *(Sample(T(*shape, grad=False), T(4, 3), T(4)) for shape in shapes),
        Sample(T(2, 3), T(4, 3), T(4), dtypes=HALVES),
        Sample(T(5, 2, 3), T(4, 3), T(4), dtypes=HALVES),
        Sample(T(2, 3), T(4, 3, grad=False), T(4)),
        Sample(T(2, 3), T(4, 3), bias=T(4, grad=False)),
        Sample(T(2, 3), T(4, 3), T(2, 4)),
        Sample(T(5, 2, 3), T(4, 3), T(2, 4)),
        Sample(T(5, 2, 3), T(4, 3), T(1)),
        Sample(T(2, 3), T(3)),
        Sample(T(2, 3, dtype="int64"), T(4, 3, dtype="int64"), grad=False),
        Sample(T(2, 3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot be mult")),
        Sample(T(2, 3), T(4, 5), T(4), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(2, 2, 3), T(4, 5), T(4), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot be mult")),
        Sample(T(2, 3), T(4, 3), T(3), error=(RuntimeError, "The expanded size of the")),
        Sample(T(2, 3, dtype="int64"), T(4, 3), T(4), error=(RuntimeError, "mat1 and mat2 mu")),
        Sample(T(2, 3), T(4, 3, 2), error=(RuntimeError, "t() expects a tensor with <= 2")),
        Sample(T(), T(3), error=(RuntimeError, "both arguments to linear need to be at")),
        Sample(2.0, T(3), error=(TypeError, "linear(): argument 'input' (position 1)")),
    ]


@functional(samples=_linear_samples, autocast="lower")
@core.shortcut("linear", _t, _addmm, _view)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias`` along the last dimension.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2), torch.zeros(3))
    tensor([[2., 2., 2.]])
    """
    try:
        array = input._array
        if (
            (input._level or weight._level)
            and bias is not None
            and _is_vector_layer(array, weight, bias)
        ):
            return RECORDED.addmv(bias, weight, input)  # of a batch: one op in place of four
        transposed = RECORDED.t(weight)
    except (AttributeError, TypeError):
        _check_linear(input, weight)
        raise
    if bias is None:
        return _matmul(input, transposed, "linear")
    if array.ndim == 2:
        return RECORDED.addmm(bias, input, transposed)
    if array.ndim == 0:
        _check_linear_dims(input, weight)
    if bias._array.ndim <= 1 and array.flags.c_contiguous:
        *lead, inner = array.shape
        flat = RECORDED.addmm(bias, RECORDED.reshape(input, (prod(lead), inner)), transposed)
        return RECORDED.view(flat, (*lead, flat._array.shape[1]))
    return _matmul(input, transposed, "linear") + bias


def _is_vector_layer(array: Array, weight: Tensor, bias: Tensor) -> bool:
    """Whether a layer is given one vector, and all arguments fit together."""
    matrix, added = weight._array, bias._array
    fits: bool = array.ndim == 1 and matrix.shape == (*added.shape, *array.shape)
    return fits and array.dtype is matrix.dtype is added.dtype


def _check_linear(input: Tensor, weight: Tensor) -> None:
    for position, name, value in ((1, "input", input), (2, "weight", weight)):
        if not isinstance(value, Tensor):
            raise errors.argument_type("linear", name, position, "Tensor", value)


def _check_linear_dims(input: Tensor, weight: Tensor) -> None:
    raise RuntimeError(
        "both arguments to linear need to be at least 1D, but they are "
        f"{input._array.ndim}D and {weight._array.ndim}D"
    )
