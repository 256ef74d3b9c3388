"""What ops do with sparse operands: the general path asks here before it looks at arrays.

An op that is in no table here raises PyTorch's error for it, by name and layout.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from retrograd import dtypes
from retrograd.engine import sparse_sums as sums
from retrograd.engine.grad_mode import no_grad
from retrograd.engine.sparse_array import (
    SPARSE_ARRAY,
    STRANGERS,
    run_masked,
    run_masked_in_place,
)
from retrograd.engine.state import STATE
from retrograd.engine.views import bump
from retrograd.notices import runtime_error
from retrograd.ops import errors
from retrograd.ops.calling.aten_names import overload_name
from retrograd.ops.registry import Op
from retrograd.sparse import arithmetic, conversions, products, rearranging, reductions
from retrograd.sparse.construction import empty_coo, in_place_zero
from retrograd.sparse.graph import as_tensor, is_sparse, layout_name, missing, sparse_of
from retrograd.tensor import Tensor, wrap
from retrograd.tensor.size import sparse_coo


def _refused(message: str) -> Callable[..., NoReturn]:
    def refuse(tensor: Tensor, *args: object) -> NoReturn:
        raise runtime_error(message, code="RG306")

    return refuse


def _zeros_like(tensor: Tensor) -> Tensor:
    array = sparse_of(tensor)
    if array.layout is not sparse_coo:
        return arithmetic.with_values(tensor, np.zeros_like(array.values))
    return empty_coo(array.shape, array.sparse_dim, array.values.dtype)


def _alias(tensor: Tensor) -> Tensor:
    if tensor.requires_grad and STATE.grad_enabled:
        raise missing("alias", tensor)
    return as_tensor(sparse_of(tensor))


def _to_dtype(tensor: Tensor, dtype: dtypes.dtype | None, order: object) -> Tensor:
    return conversions.converted(tensor, dtypes.from_numpy_dtype(dtype), False)


def _sum_to_size(tensor: Tensor, size: Sequence[int]) -> Tensor:
    if tuple(size) != tuple(tensor._array.shape):
        raise missing("sum_to_size", tensor)
    return tensor


def _any(tensor: Tensor, dim: object = None, keepdim: bool = False) -> Tensor:
    if dim is not None:
        raise missing("any.dim", tensor)
    values = sums.as_coo(sparse_of(tensor)).values
    return wrap(np.asarray(bool(values.any())))


def _unary(name: str) -> Callable[[Tensor], Tensor]:
    return lambda tensor: arithmetic.unary(name, tensor)


def _conjugate(tensor: Tensor) -> Tensor:
    if tensor.dtype.is_complex:
        raise missing("conj", tensor)
    return tensor


HANDLERS: dict[str, Callable[..., Tensor | tuple[Tensor, ...]]] = {
    "add": arithmetic.add,
    "sub": arithmetic.sub,
    "mul": arithmetic.mul,
    "div": arithmetic.div,
    "_div_rounded": arithmetic.div,
    "_pow_number": arithmetic.pow,
    "mm": products.mm,
    "mv": products.mv,
    "bmm": products.bmm,
    "addmm": products.addmm,
    "t": rearranging.t,
    "transpose": rearranging.transpose,
    "permute": rearranging.permute,
    "index_select": rearranging.index_select,
    "select": rearranging.select,
    "unsqueeze": rearranging.unsqueeze,
    "unbind": rearranging.unbind,
    "cat": rearranging.cat,
    "stack": rearranging.stack,
    "clone": rearranging.clone,
    "sum": reductions.sum_method,
    "_sum_all": reductions.sum_all,
    "zeros_like": _zeros_like,
    "alias": _alias,
    "_alias": _alias,
    "_to_dtype": _to_dtype,
    "sum_to_size": _sum_to_size,
    "any": _any,
    "_conj": _conjugate,
    "_conj_physical": _conjugate,
    "expand": _refused("expand is unsupported for Sparse tensors"),
    "_reshape_alias": _refused("reshape is not implemented for sparse tensors"),
    **{name: _unary(name) for name in arithmetic.UNARY},
}

# functions that compressed layouts have; the others refuse them themselves or below
_CSR = {
    *("add", "sub", "mul", "div", "_pow_number", "mm", "mv", "addmm", "clone", "sum", "_sum_all"),
    "zeros_like",
    *("_to_dtype", "select", "transpose", "t", "alias", "_alias", "any", "sum_to_size"),
    *arithmetic.UNARY,
}


def _first_sparse(args: Iterable[object]) -> Tensor:
    for value in args:
        if is_sparse(value):
            return value
        if isinstance(value, (list, tuple)):
            inner: list[Tensor] = [x for x in value if is_sparse(x)]
            if inner:
                return inner[0]
    raise AssertionError("no sparse operand")


def is_masked(args: Iterable[object]) -> bool:
    """Whether an operand is a masked tensor; a sparse one has none beside it."""
    for value in args:
        if isinstance(value, Tensor):
            kind = type(value._array)
            if kind is not SPARSE_ARRAY and kind in STRANGERS:
                return True
        elif isinstance(value, (list, tuple)) and is_masked(value):
            return True
    return False


def run_sparse(op: Op, args: tuple[object, ...]) -> Tensor | tuple[Tensor, ...]:
    """The result of an op that has a sparse operand; or the error that says it has none."""
    if is_masked(args):
        return run_masked(op, args)  # type: ignore[no-any-return]
    handler = HANDLERS.get(op.name)
    sparse = _first_sparse(args)
    if handler is None or (sparse.layout is not sparse_coo and op.name not in _CSR):
        raise _no_handler(op, args, sparse)
    return handler(*args)


def refuse_batches(op: Op, args: tuple[object, ...]) -> None:
    """Raise where a sparse operand meets a batched one: `vmap` has no rules for them."""
    if any(is_sparse(x) for x in args) and any(isinstance(x, Tensor) and x._level for x in args):
        raise errors.unsupported(f"{op.label} with a sparse operand inside of vmap")


def _no_handler(op: Op, args: tuple[object, ...], sparse: Tensor) -> Exception:
    if sparse.layout is not sparse_coo and op.ufunc is not None:
        return runtime_error(f"unsupported tensor layout: {layout_name(sparse)}", code="RG306")
    name = overload_name(op, args).removeprefix("aten.").removesuffix(".default")
    return missing(name, sparse)


# --------------------------------------------------------------------------------------- in place


def run_in_place(op: Op, args: tuple[Any, ...], writer: str) -> Tensor:
    """An in-place op with a sparse operand: of tensors that nothing is recorded for."""
    if is_masked(args):
        return run_masked_in_place(op, args, writer)  # type: ignore[no-any-return]
    target: Tensor = args[0]
    if STATE.grad_enabled and any(isinstance(x, Tensor) and x.requires_grad for x in args):
        raise errors.unsupported(
            f"recording {writer} with a sparse operand: the out-of-place {op.label} is recorded"
        )
    if op.name not in ("add", "sub", "mul", "div", "neg", "_div_rounded", *arithmetic.UNARY):
        raise missing(f"{writer}", _first_sparse(args))
    with no_grad():
        result = run_sparse(op, args)
        assert isinstance(result, Tensor)  # no op in place has several
        if not is_sparse(target):
            dense = conversions.to_dense(result)
            if not dtypes.can_cast(dense.dtype, target.dtype):
                raise errors.cannot_cast_result(dense.dtype, target.dtype)
            np.copyto(target._array, dense._array, casting="unsafe")
        else:
            arithmetic.in_place(result, target)
    bump(target, writer)
    return target


def zero(target: Tensor) -> Tensor:
    """`zero_` of a sparse tensor."""
    if target.requires_grad and STATE.grad_enabled:
        raise errors.unsupported("recording zero_ of a sparse tensor")
    in_place_zero(target)
    bump(target, "zero_")
    return target


def refuse_out(op: Op, tensors: list[Tensor]) -> Exception:
    """The error for ``out=`` with a sparse tensor."""
    if is_masked(tensors):
        return ValueError("len(kwargs) must equal 0")  # in PyTorch's words
    sparse = _first_sparse(tensors)
    return errors.unsupported(f"{op.label}(out=...) with tensors of layout {sparse.layout!r}")
