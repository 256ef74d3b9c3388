"""Sums and products of sparse tensors, and functions of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from retrograd import dtypes
from retrograd.autograd.function import Function, FunctionCtx
from retrograd.engine import sparse_sums as sums
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.sparse_array import SparseArray, coo
from retrograd.notices import runtime_error
from retrograd.ops import errors
from retrograd.ops.registry import OPS, RECORDED
from retrograd.sparse.conversions import to_csr, to_dense, to_sparse
from retrograd.sparse.graph import (
    apply,
    as_tensor,
    is_sparse,
    layout_name,
    missing,
    node,
    sparse_of,
)
from retrograd.tensor import Array, Tensor, wrap
from retrograd.tensor.size import sparse_coo, sparse_csc, sparse_csr


def common_dtype(*operands: object) -> dtypes.dtype:
    """The dtype of an arithmetic result; sparse tensors count as tensors with dimensions."""
    return dtypes.result_dtype(
        [
            np.empty((1,) * x._array.ndim, x.dtype.numpy) if isinstance(x, Tensor) else x
            for x in operands
        ]
    )


def with_values(tensor: Tensor, values: Array) -> Tensor:
    """The places of a sparse tensor with other values."""
    array = sparse_of(tensor)
    made = SparseArray(array.layout, array.indices, values, array.shape, array.coalesced)
    made.plans = array.plans
    return as_tensor(made)


def _unsupported_csr(tensor: Tensor) -> None:
    if is_sparse(tensor) and tensor.layout is not sparse_coo:
        raise runtime_error(f"unsupported tensor layout: {layout_name(tensor)}", code="RG306")


def _number(value: object) -> Any:
    """A factor as a number or an array without dimensions."""
    return value._array if isinstance(value, Tensor) else value


# ------------------------------------------------------------------------------------------- sums


class _SparseSum(Function):
    """``one + alpha * two``, both sparse."""

    @staticmethod
    def forward(ctx: FunctionCtx, one: Tensor, two: Tensor, alpha: float, sign: int) -> Tensor:
        ctx.alpha = alpha * sign
        return as_tensor(sums.add_sparse(sparse_of(one), sparse_of(two), ctx.alpha))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad, grad if ctx.alpha == 1 else grad * ctx.alpha, None, None


class _MixedSum(Function):
    """``dense + alpha * sparse``: dense, and so are the gradients."""

    @staticmethod
    def forward(ctx: FunctionCtx, dense: Tensor, sparse: Tensor, alpha: float, sign: int) -> Tensor:
        ctx.alpha = alpha * sign
        added = sums.dense_of(sparse_of(sparse))
        if ctx.alpha != 1:
            added = added * np.asarray(ctx.alpha, added.dtype)
        return wrap(dense._array + added)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        return grad, grad if ctx.alpha == 1 else grad * ctx.alpha, None, None


@node("AddBackward0")
class _Add(_SparseSum):
    pass


@node("SubBackward0")
class _Sub(_SparseSum):
    pass


@node("AddBackward0")
class _AddMixed(_MixedSum):
    pass


@node("SubBackward0")
class _SubMixed(_MixedSum):
    pass


def _sum(one: Any, two: Any, alpha: float, sign: int) -> Tensor:
    if is_sparse(one) and not is_sparse(two):
        if one.layout is not sparse_coo and isinstance(two, Tensor) and sign == 1 and alpha == 1:
            one, two = two, one
        else:
            if sign < 0:
                _unsupported_csr(one)
            raise runtime_error(
                "add(sparse, dense) is not supported. Use add(dense, sparse) instead.", code="RG306"
            )
    if not isinstance(one, Tensor):
        raise missing("add.Tensor", two)
    if sign < 0:
        _unsupported_csr(one)
        _unsupported_csr(two)
    both = is_sparse(one)
    if one._array.shape != two._array.shape:
        if both:
            raise runtime_error(
                "add: expected sizes of 'self' and 'other' to match, but "
                f"{list(one._array.shape)} != {list(two._array.shape)}",
                code="RG201",
            )
        raise runtime_error(
            "add: expected 'self' and 'other' to have same size, but self has size "
            f"{list(one._array.shape)} while other has size {list(two._array.shape)} (FYI: "
            "dense-sparse addition does not currently support broadcasting)",
            code="RG201",
        )
    if both and (one.layout is not two.layout or _dims(one) != _dims(two)):
        raise missing("add.Tensor", one if one.layout is not sparse_coo else two)
    wanted = common_dtype(one, two)
    one, two = one.to(wanted), two.to(wanted)
    function = {(True, 1): _Add, (True, -1): _Sub, (False, 1): _AddMixed, (False, -1): _SubMixed}
    made: Tensor = apply(function[both, sign], one, two, alpha, sign)
    return made


def _dims(tensor: Tensor) -> tuple[int, int]:
    array = sparse_of(tensor)
    return array.sparse_dim, array.dense_dim


def add(input: Tensor, other: Tensor | float, alpha: float = 1) -> Tensor:
    """`torch.add` where an operand is sparse."""
    return _sum(input, other, alpha, 1)


def sub(input: Tensor, other: Tensor, alpha: float = 1) -> Tensor:
    """`torch.sub` where an operand is sparse."""
    return _sum(input, other, alpha, -1)


# --------------------------------------------------------------------------------------- products


@node("MulBackward0")
class _Scaled(Function):
    """A sparse tensor times a number."""

    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, factor: Tensor | float) -> Tensor:
        ctx.factor = factor
        if isinstance(factor, Tensor) and factor.requires_grad:
            ctx.save_for_backward(tensor)
        values = sparse_of(tensor).values
        number = np.asarray(_number(factor)).astype(values.dtype)
        return with_values(tensor, values * number)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor | None]:
        of_factor = None
        if ctx.needs_input_grad[1]:
            (tensor,) = ctx.saved_tensors
            of_factor = (to_dense(grad) * to_dense(tensor)).sum()
        factor = ctx.factor
        return grad * (factor if not isinstance(factor, Tensor) else factor.detach()), of_factor


@node("MulBackward0")
class _Product(Function):
    """A sparse tensor times a sparse or dense one: entries where the first has some."""

    @staticmethod
    def forward(ctx: FunctionCtx, one: Tensor, two: Tensor) -> Tensor:
        ctx.save_for_backward(one, two)
        first: Any = one._array
        second: Any = two._array
        if not is_sparse(one) or (is_sparse(two) and first.coalesced and not second.coalesced):
            first, second = second, first
        pattern = first if first.layout is sparse_coo else sums.places_of(first)
        sizes = first.shape[: pattern.sparse_dim]
        if not isinstance(second, SparseArray):
            second = np.broadcast_to(second, first.shape)
        found = sums.values_at(second, pattern.indices, sizes)
        kept: Any = slice(None)
        indices = first.indices
        if isinstance(second, SparseArray) and first.layout is sparse_coo:
            other = sums.as_coo(second)
            known = sums.flat_places(other.indices, sizes)
            kept = np.isin(sums.flat_places(pattern.indices, sizes), known)
            if kept.all():
                kept = slice(None)
            else:
                indices = indices[:, kept]
        values = first.values[kept] * found[kept]
        made = SparseArray(first.layout, indices, values, first.shape, first.coalesced)
        return as_tensor(made)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        one, two = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return grad * two if needs[0] else None, grad * one if needs[1] else None


def mul(input: Any, other: Any) -> Tensor:
    """`torch.mul` where an operand is sparse."""
    if not is_sparse(input):
        if not isinstance(input, Tensor) or (input._array.ndim == 0 and other._array.ndim):
            input, other = other, input
    one, two = (input, other) if is_sparse(input) else (other, input)
    wanted = common_dtype(one, two)
    if not isinstance(two, Tensor) or (two._array.ndim == 0 and not is_sparse(two)):
        made: Tensor = apply(_Scaled, one.to(wanted), two)
        return made
    shape, other_shape = tuple(one._array.shape), tuple(two._array.shape)
    if shape != other_shape:
        if is_sparse(two):
            raise runtime_error(
                "sparse_binary_op_intersection_cpu(): expects sparse inputs with equal "
                "dimensionality, number of sparse dimensions, and shape of sparse dimensions",
                code="RG201",
            )
        if np.broadcast_shapes(shape, other_shape) != shape:
            raise missing("mul.Tensor with broadcasting of the sparse operand", one)
        if two.requires_grad:
            raise missing("mul.Tensor with a gradient of a broadcast dense operand", one)
    if is_sparse(two) and (one.layout is not two.layout or _dims(one) != _dims(two)):
        raise missing("mul.Tensor", one)
    if sparse_csc in (one.layout, two.layout):
        raise runtime_error("Expected result Tensor to be of format CSR", code="RG306")
    input, other = input.to(wanted), other.to(wanted)
    if one.layout is sparse_csr and is_sparse(two):
        return _csr_product(input, other)
    made = apply(_Product, input, other)
    return made


def _csr_product(one: Tensor, two: Tensor) -> Tensor:
    return to_csr(to_sparse(one) * to_sparse(two))


def div(input: Tensor, other: Any, rounding_mode: str | None = None) -> Tensor:
    """`torch.div` of a sparse tensor by a number."""
    scalar = not isinstance(other, Tensor) or (other._array.ndim == 0 and not is_sparse(other))
    if not is_sparse(input) or not scalar:
        shape = list(other._array.shape)
        raise runtime_error(
            "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape "
            f"{shape} for divisor)",
            code="RG306",
        )
    _unsupported_csr(input)
    wanted = common_dtype(input, other)
    if rounding_mode is None and wanted.category < dtypes.FLOAT:
        wanted = dtypes.get_default_dtype()
    if isinstance(other, Tensor) and other.requires_grad:
        raise missing("div.Tensor with a gradient of the divisor", input)
    function = _Quotient if rounding_mode is None else _Rounded
    made: Tensor = apply(function, input.to(wanted), other, rounding_mode)
    return made


@node("DivBackward0")
class _Quotient(Function):
    @staticmethod
    def forward(
        ctx: FunctionCtx, tensor: Tensor, divisor: Tensor | float, mode: str | None
    ) -> Tensor:
        ctx.divisor, ctx.mode = divisor, mode
        tensor = as_tensor(sums.coalesced(sparse_of(tensor))) if mode else tensor
        values = wrap(sparse_of(tensor).values)
        number = _number(divisor)
        number = number if not isinstance(number, np.ndarray) else number.item()
        result = RECORDED.div(values, number) if mode is None else values.div(
            number, rounding_mode=mode
        )  # fmt: skip
        return with_values(tensor, result._array)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        if ctx.mode is not None:
            return grad * 0, None, None
        return grad / ctx.divisor, None, None


@node("DivBackward2")
class _Rounded(_Quotient):
    pass


# --------------------------------------------------------------------------- functions of values

# functions of PyTorch's sparse tensors: all of them are zero at zero
UNARY = (
    *("abs", "asin", "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1"),
    *("floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p", "neg", "rad2deg"),
    *("relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "tan", "tanh", "trunc"),
)
_SLOPES: dict[str, Any] = {
    "abs": lambda tensor, grad: grad * tensor.sign(),
    "neg": lambda tensor, grad: -grad,
    "relu": lambda tensor, grad: grad * (tensor.relu()).sign(),
    "sign": lambda tensor, grad: grad * 0,
    "ceil": lambda tensor, grad: grad * 0,
    "floor": lambda tensor, grad: grad * 0,
    "round": lambda tensor, grad: grad * 0,
    "trunc": lambda tensor, grad: grad * 0,
    "frac": lambda tensor, grad: grad,
    "deg2rad": lambda tensor, grad: grad * (np.pi / 180.0),
    "rad2deg": lambda tensor, grad: grad * (180.0 / np.pi),
}


class _Unary(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, name: str) -> Tensor:
        ctx.function_name = name
        ctx.save_for_backward(tensor)
        array = sparse_of(tensor)
        whole = array if name == "neg" else sums.coalesced(array)
        result = OPS[name].function(wrap(whole.values))
        made = SparseArray(
            array.layout, whole.indices, result._array, array.shape, whole.coalesced
        )  # fmt: skip
        return as_tensor(made)

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        (tensor,) = ctx.saved_tensors
        slope = _SLOPES.get(ctx.function_name)
        if slope is None:
            raise missing(f"{ctx.function_name}_backward", tensor)
        return slope(tensor, grad), None


_UNARY_CLASSES: dict[str, type[Function]] = {}


def unary(name: str, tensor: Tensor) -> Tensor:
    """A function of the values that is zero at zero."""
    function = _UNARY_CLASSES.get(name)
    if function is None:
        function = type(f"_Unary_{name}", (_Unary,), {})
        function = _UNARY_CLASSES[name] = node(OPS[name].node_name)(function)
    made: Tensor = apply(function, tensor, name)
    return made


@node("PowBackward0")
class _Power(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, tensor: Tensor, exponent: float) -> Tensor:
        ctx.exponent = exponent
        ctx.save_for_backward(tensor)
        whole = sums.coalesced(sparse_of(tensor))
        with no_grad():
            result = wrap(whole.values) ** exponent
        return as_tensor(coo(whole.indices, result._array, whole.shape, True))

    @staticmethod
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor | None, ...]:
        (tensor,) = ctx.saved_tensors
        exponent = ctx.exponent
        if exponent == 1:
            return grad, None
        return grad * (pow(tensor, exponent - 1) * exponent), None


def pow(input: Tensor, exponent: object) -> Tensor:
    """The values of a coalesced tensor to a power that is not zero."""
    if not is_sparse(input) or isinstance(exponent, Tensor):
        raise missing("pow.Scalar", exponent if is_sparse(exponent) else input)
    _unsupported_csr(input)
    if exponent == 0:
        raise runtime_error(
            "pow: cannot raise to zeroth power on sparse tensor; it would make the result "
            "tensor dense",
            code="RG306",
        )
    made: Tensor = apply(_Power, input, exponent)
    return made


# --------------------------------------------------------------------------------------- in place


def in_place(result: Tensor, target: Tensor) -> None:
    """Write a sparse result into the sparse target of an in-place op."""
    if result.dtype is not target.dtype:
        if not dtypes.can_cast(result.dtype, target.dtype):
            raise errors.cannot_cast_result(result.dtype, target.dtype)
        result = result.to(target.dtype)
    sparse_of(target).become(sparse_of(result))
