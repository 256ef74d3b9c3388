"""Products of matrices and vectors that also add: addmm, addmv, addr and the batched ones."""

from __future__ import annotations

from typing import Any

from retrograd import dtypes
from retrograd.engine.saved_names import size_of
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace
from retrograd.ops.linalg.products import (
    batched_product,
    c_name,
    check_batches,
    first_gradient,
    matrix_times_vector,
    outer_product,
    refuse_bool,
    second_gradient,
    shapes_error,
    type_name,
)
from retrograd.ops.making.arguments import as_element
from retrograd.ops.registry import Table, op
from retrograd.ops.shapes.broadcasting import expanded_size
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_ALL = (*FLOATS, *HALVES, *COMPLEX)


def _scaled(m: Table, value: Tensor, factor: complex) -> Tensor:
    return value if factor == 1 else m.mul(value, factor)


def _number(value: object, array: Array) -> Any:
    """A factor in the kind of an array: integers cut it off, real floats refuse complex ones."""
    kind = array.dtype.kind
    if isinstance(value, complex) and kind != "c":
        raise RuntimeError(f"value cannot be converted to type {c_name(array)} without overflow")
    return as_element(value, dtypes.from_numpy_dtype(array.dtype)) if kind in "iu" else value


_SMALL = 2048


def _combine(xp: Namespace, input: Array, product: Array, beta: complex, alpha: complex) -> Array:
    """``beta * input + alpha * product``, in the memory of `product`; a factor 0 hides nan."""
    if beta == 1 and alpha == 1 and product.size < _SMALL:
        try:
            result = xp.add(product, input)  # where both are small, faster than in place
        except ValueError:
            raise _expand_error(input, product.shape) from None
        if result.shape == product.shape:
            return result
        raise _expand_error(input, product.shape)
    if alpha != 1:
        if alpha == 0:
            product[...] = 0
        else:
            product *= _number(alpha, product)
    if beta == 0:
        return product
    if beta != 1:
        input = input * _number(beta, product)
    try:
        xp.iadd(product, input)
    except ValueError:
        raise _expand_error(input, product.shape) from None
    return product


def _expand_error(array: Array, target: tuple[int, ...]) -> Exception:
    try:
        expanded_size(wrap(array), target)
    except RuntimeError as error:
        return error
    raise AssertionError(f"{array.shape} expands to {target}")


def _check_addmm(input: Array, mat1: Array, mat2: Array, *, beta: complex, alpha: complex) -> None:
    if input.dtype is not mat2.dtype:
        raise errors.runtime_error(
            f"self and mat2 must have the same dtype, but got {type_name(input)} and "
            f"{type_name(mat2)}",
            code="RG301",
        )
    if mat1.dtype is not mat2.dtype:
        raise errors.runtime_error(
            f"mat1 and mat2 must have the same dtype, but got {type_name(mat1)} and "
            f"{type_name(mat2)}",
            code="RG301",
        )
    refuse_bool("addmm_impl_cpu_", mat1)


@op(
    input=lambda m, g, beta: _scaled(m, g, beta),
    mat1=lambda m, g, mat2, mat1_strides, alpha: _scaled(
        m, first_gradient(m, g, mat2, mat1_strides), alpha
    ),
    mat2=lambda m, g, mat1, mat2_strides, alpha: _scaled(
        m, second_gradient(m, g, mat1, mat2_strides), alpha
    ),
    check=_check_addmm,
    inplace=True,
    out="structured",
    samples=lambda: [
        Sample(T(3, 2), T(3, 4), T(4, 2), dtypes=_ALL),
        Sample(T(2), T(3, 4), T(4, 2), inplace=False),
        Sample(T(3, 1), T(3, 4), T(4, 2), beta=0.5, alpha=-2.0, inplace=False),
        Sample(T(), T(3, 4), T(4, 2), beta=2, inplace=False),
        Sample(T(3, 2), T(3, 4), T(4, 2), beta=2.5, alpha=1.5, dtypes=_ALL),
        Sample(T(3, 2), T(3, 4), T(4, 2), beta=1j, alpha=2 + 1j, dtypes=COMPLEX),
        Sample(T(3, 2), T(3, 4), T(4, 2), alpha=1j),
        Sample(T(values=[float("nan"), 1.0]), T(3, 4), T(4, 2), beta=0, inplace=False),
        Sample(T(3, 0), T(3, 4), T(4, 0)),
        Sample(T(3, 2), T(3, 0), T(0, 2), beta=3),
        Sample(*(T(2, 2, dtype="int64") for _ in range(3)), beta=2, alpha=1.5, grad=False),
        Sample(*(T(2, 2, dtype="bool") for _ in range(3)), grad=False),
        Sample(T(2), T(2, 3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(2), T(2, 3), T(3, 5), error=(RuntimeError, "The expanded size of the tensor")),
        Sample(T(3, 2, 5), T(2, 3), T(3, 5), error=(RuntimeError, "expand(torch.")),
        Sample(T(5), T(3), T(3, 5), error=(RuntimeError, "mat1 must be a matrix, got 1-D")),
        Sample(T(5), T(3, 3), T(3), error=(RuntimeError, "mat2 must be a matrix, got 1-D")),
        Sample(T(5, dtype="int64"), T(2, 3), T(3, 5), error=(RuntimeError, "self and mat2")),
        Sample(T(5), T(2, 3, dtype="int64"), T(3, 5), error=(RuntimeError, "mat1 and mat2 m")),
    ],
    autocast="lower",
    old_order=("beta", "alpha"),
)
def addmm(
    xp: Namespace, input: Array, mat1: Array, mat2: Array, *, beta: complex = 1, alpha: complex = 1
) -> Array:
    """``beta * input + alpha * (mat1 @ mat2)``."""
    if mat1.ndim != 2 or mat2.ndim != 2:
        name, bad = ("mat2", mat2) if mat1.ndim == 2 else ("mat1", mat1)
        raise RuntimeError(f"{name} must be a matrix, got {bad.ndim}-D tensor")
    try:
        product = xp.matmul2d(mat1, mat2)
    except ValueError:
        raise shapes_error(mat1, mat2) from None
    return _combine(xp, input, product, beta, alpha)


def _check_addmv(input: Array, mat: Array, vec: Array, *, beta: complex, alpha: complex) -> None:
    if not (input.dtype is mat.dtype is vec.dtype):
        kinds = f"{type_name(input)}, {type_name(mat)}, and {type_name(vec)}"
        raise errors.runtime_error(
            f"addmv input tensors must have the same dtype, but got {kinds}", code="RG301"
        )
    refuse_bool("addmv_impl_cpu", mat)


@op(
    input=lambda m, g, beta: _scaled(m, g, beta),
    mat=lambda m, g, vec, alpha: _scaled(m, outer_product(m, g, vec), alpha),
    vec=lambda m, g, mat, alpha: _scaled(m, m.mv(m.t(mat), g), alpha),
    check=_check_addmv,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(3), T(3, 4), T(4), dtypes=_ALL),
        Sample(T(1), T(3, 4), T(4), beta=0.5, alpha=-2.0, inplace=False),
        Sample(T(), T(3, 4), T(4), beta=2, inplace=False),
        Sample(T(3), T(3, 4), T(4), beta=0, alpha=2.5),
        Sample(T(3, dtype="int64"), T(3, 3, dtype="int64"), T(3, dtype="int64"), grad=False),
        Sample(T(3), T(2, 3), T(3), error=(RuntimeError, "size mismatch, got input (3)")),
        Sample(T(2), T(2, 3), T(4), error=(RuntimeError, "size mismatch, got input (2)")),
        Sample(T(2), T(2), T(2), error=(RuntimeError, "vector + matrix @ vector expected")),
        Sample(T(2, dtype="int64"), T(2, 3), T(3), error=(RuntimeError, "addmv input tens")),
    ],
    old_order=("beta", "alpha"),
    inplace_names=("torch.addmv_",),
)
def addmv(
    xp: Namespace, input: Array, mat: Array, vec: Array, *, beta: complex = 1, alpha: complex = 1
) -> Array:
    """``beta * input + alpha * (mat @ vec)``."""
    if input.ndim > 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}"
        )
    return _combine(xp, input, matrix_times_vector(xp, mat, vec, input.size), beta, alpha)


def _check_addbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: complex, alpha: complex
) -> None:
    check_batches(batch1, batch2)
    refuse_bool("addmm_impl_cpu_", batch1)
    if batch1.dtype is not batch2.dtype:
        raise errors.runtime_error(
            f"mat1 and mat2 must have the same dtype, but got {type_name(batch1)} and "
            f"{type_name(batch2)}",
            code="RG301",
        )
    if input.dtype is not batch2.dtype:
        raise errors.runtime_error(
            f"self and mat2 must have the same dtype, but got {type_name(input)} and "
            f"{type_name(batch2)}",
            code="RG301",
        )


def _batch_of(m: Table, g: Tensor, shape: tuple[int, ...]) -> Tensor:
    """One matrix as a batch of `shape[0]` equal ones."""
    return m.expand(m.unsqueeze(g, 0), (shape[0], *g.shape))


@op(
    input=lambda m, g, beta: _scaled(m, g, beta),
    batch1=lambda m, g, batch2, batch1_shape, alpha: _scaled(
        m, m.bmm(_batch_of(m, g, batch1_shape), m.transpose(batch2, 1, 2)), alpha
    ),
    batch2=lambda m, g, batch1, batch2_shape, alpha: _scaled(
        m, m.bmm(m.transpose(batch1, 1, 2), _batch_of(m, g, batch2_shape)), alpha
    ),
    check=_check_addbmm,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(3, 2), T(5, 3, 4), T(5, 4, 2), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(2), T(5, 3, 4), T(5, 4, 2), beta=0.5, alpha=-2.0, inplace=False),
        Sample(T(3, 2), T(0, 3, 4), T(0, 4, 2), beta=2),
        Sample(T(2), T(2, 2, 3), T(2, 3, 5), error=(RuntimeError, "The expanded size")),
        Sample(T(5), T(2, 2, 3), T(3, 3, 5), error=(RuntimeError, "")),
    ],
    autocast="lower",
    old_order=("beta", "alpha"),
    saved_names={
        "batch1_sym_argsize_0": size_of("batch1", 0),
        "batch1_sym_argsize_1": size_of("batch1", 1),
        "batch2_sym_argsize_2": size_of("batch2", 2),
    },
)
def addbmm(
    xp: Namespace,
    input: Array,
    batch1: Array,
    batch2: Array,
    *,
    beta: complex = 1,
    alpha: complex = 1,
) -> Array:
    """``beta * input`` plus `alpha` times the sum of all products of the two batches."""
    if batch1.ndim == 3 and batch2.ndim == 3 and batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            "batch1 and batch2 must have same number of batches, got "
            f"{batch1.shape[0]} and {batch2.shape[0]}"
        )
    product = xp.sum(batched_product(xp, batch1, batch2), axis=0)
    return _combine(xp, input, product, beta, alpha)


def _check_baddbmm(
    input: Array, batch1: Array, batch2: Array, *, beta: complex, alpha: complex
) -> None:
    check_batches(batch1, batch2)
    if batch1.dtype is batch2.dtype and input.dtype is not batch1.dtype:
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {c_name(input)}, batch1: "
            f"{c_name(batch1)}, batch2: {c_name(batch2)}"
        )
    if batch1.dtype is not batch2.dtype:
        raise errors.runtime_error(
            f"expected scalar type {type_name(batch1)} but found {type_name(batch2)}", code="RG301"
        )
    refuse_bool("baddbmm", batch1)


@op(
    input=lambda m, g, beta: _scaled(m, g, beta),
    batch1=lambda m, g, batch2, alpha: _scaled(m, m.bmm(g, m.transpose(batch2, 1, 2)), alpha),
    batch2=lambda m, g, batch1, alpha: _scaled(m, m.bmm(m.transpose(batch1, 1, 2), g), alpha),
    check=_check_baddbmm,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(5, 3, 2), T(5, 3, 4), T(5, 4, 2), dtypes=_ALL),
        Sample(T(2), T(5, 3, 4), T(5, 4, 2), beta=0.5, alpha=-2.0, inplace=False),
        Sample(T(5, 1, 2), T(5, 3, 4), T(5, 4, 2), beta=2, alpha=3, inplace=False),
        Sample(T(5, 3, 2), T(5, 3, 0), T(5, 0, 2)),
        Sample(T(2), T(2, 2, 3), T(2, 3, 5), error=(RuntimeError, "The expanded size")),
        Sample(T(5), T(2, 2, 3), T(2, 4, 5), error=(RuntimeError, "Expected size for first")),
        Sample(T(5, dtype="int64"), T(2, 2, 3), T(2, 3, 5), error=(RuntimeError, "Input dty")),
    ],
    autocast="lower",
    old_order=("beta", "alpha"),
)
def baddbmm(
    xp: Namespace,
    input: Array,
    batch1: Array,
    batch2: Array,
    *,
    beta: complex = 1,
    alpha: complex = 1,
) -> Array:
    """``beta * input + alpha * (batch1 @ batch2)`` for batches of matrices."""
    return _combine(xp, input, batched_product(xp, batch1, batch2), beta, alpha)


def _check_addr(input: Array, vec1: Array, vec2: Array, *, beta: complex, alpha: complex) -> None:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    kind = dtypes.result_dtype([input, vec1, vec2]).category
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, float) and kind <= dtypes.INTEGER:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
        if isinstance(value, complex) and kind < dtypes.COMPLEX:
            raise RuntimeError(
                f"For non-complex input tensors, argument {name} must not be a complex number."
            )


@op(
    input=lambda m, g, beta: _scaled(m, g, beta),
    vec1=lambda m, g, vec2, alpha: _scaled(m, m.mv(g, vec2), alpha),
    vec2=lambda m, g, vec1, alpha: _scaled(m, m.mv(m.t(g), vec1), alpha),
    promote=True,
    fast=False,
    check=_check_addr,
    inplace=True,
    out=True,
    samples=lambda: [
        Sample(T(3, 2), T(3), T(2), dtypes=(*FLOATS, *COMPLEX)),
        Sample(T(2), T(3), T(2), beta=0.5, alpha=-2.0, inplace=False),
        Sample(T(3, 2), T(3), T(2), beta=0, alpha=3),
        Sample(T(3, 2), T(3, dtype="int64"), T(2, dtype="int64")),
        Sample(T(3, 2, dtype="bool"), T(3, dtype="bool"), T(2, dtype="bool"), grad=False),
        Sample(*(T(*s, dtype="int64") for s in ((2, 4), (2,), (4,))), alpha=0.5, grad=False),
        Sample(T(2), T(2), T(4), error=(RuntimeError, "The expanded size of the tensor")),
        Sample(T(2, 4), T(2, 2), T(4), error=(RuntimeError, "addr: Expected 1-D argument vec1")),
    ],
    old_order=("beta", "alpha"),
)
def addr(
    xp: Namespace, input: Array, vec1: Array, vec2: Array, *, beta: complex = 1, alpha: complex = 1
) -> Array:
    """``beta * input`` plus `alpha` times the outer product of two vectors."""
    product = xp.multiply(vec1[:, None], vec2)
    if product.dtype is dtypes.B8:
        kept = xp.logical_and(input, bool(beta))
        return xp.logical_or(xp.logical_and(product, bool(alpha)), kept)
    return _combine(xp, input, product, beta, alpha)
