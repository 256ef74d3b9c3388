"""Products of matrices and vectors: mm, bmm, mv, dot and vdot."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd import dtypes
from retrograd.ops import errors
from retrograd.ops.kinds import Array, Namespace, wrap_dim
from retrograd.ops.registry import Table, op
from retrograd.samples import COMPLEX, FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor

_ALL = (*FLOATS, *HALVES, *COMPLEX)

# How PyTorch's messages about matrices name the element types.
_C_NAMES = {
    "float32": "float",
    "float64": "double",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
    "int8": "signed char",
    "uint8": "unsigned char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "bool": "bool",
}


def c_name(array: Array) -> str:
    """The element type as C++ prints it: "double", "long int"."""
    return _C_NAMES[dtypes.from_numpy_dtype(array.dtype).name]


def type_name(array: Array) -> str:
    """The element type as in "FloatTensor": "Double", "Long"."""
    return dtypes.from_numpy_dtype(array.dtype).type_name


def refuse_bool(kernel: str, array: Array) -> None:
    if array.dtype is dtypes.B8:
        raise errors.not_implemented_for(kernel, array.dtype)


def _by_columns(strides: Sequence[int]) -> bool:
    """Whether a matrix lies column after column in memory, as a transposed one does."""
    return strides[0] < strides[1]


# The gradient of a matrix product comes in the memory order of the operand it is for, so that the
# gradient of a transposed weight is again a transposed matrix, and the weight's own is contiguous.


def first_gradient(m: Table, g: Tensor, second: Tensor, strides: Sequence[int]) -> Tensor:
    if _by_columns(strides):
        return m.t(m.mm(second, m.t(g)))
    return m.mm(g, m.t(second))


def second_gradient(m: Table, g: Tensor, first: Tensor, strides: Sequence[int]) -> Tensor:
    if _by_columns(strides):
        return m.t(m.mm(m.t(g), first))
    return m.mm(m.t(first), g)


def outer_product(m: Table, column: Tensor, row: Tensor) -> Tensor:
    return m.mul(m.reshape(column, (column.shape[0], 1)), row)


# ------------------------------------------------------------------------------- plain products


def shapes_error(a: Array, b: Array) -> Exception:
    sizes = (*a.shape, *b.shape)
    return errors.runtime_error(
        "mat1 and mat2 shapes cannot be multiplied "
        f"({sizes[0]}x{sizes[1]} and {sizes[2]}x{sizes[3]})",
        code="RG202",
    )


def _check_mm(input: Array, mat2: Array) -> None:
    if input.ndim != 2 or mat2.ndim != 2 or input.shape[1] != mat2.shape[0]:
        return  # `mm` says so
    if input.dtype is not mat2.dtype:
        raise errors.runtime_error(
            "expected m1 and m2 to have the same dtype, but got: "
            f"{c_name(input)} != {c_name(mat2)}",
            code="RG301",
        )
    if input.size and mat2.size:  # of nothing, no kernel is asked
        refuse_bool("addmm_impl_cpu_", input)


@op(
    input=lambda m, g, mat2, input_strides: first_gradient(m, g, mat2, input_strides),
    mat2=lambda m, g, input, mat2_strides: second_gradient(m, g, input, mat2_strides),
    check=_check_mm,
    out="structured",
    samples=lambda: [
        Sample(T(3, 4), T(4, 2), dtypes=_ALL),
        Sample(T(1, 4), T(4, 1)),
        Sample(T(2, 260), T(260, 300, low=-0.1, high=0.1)),
        Sample(T(0, 3), T(3, 2)),
        Sample(T(2, 0), T(0, 3)),
        Sample(T(3, 4), T(4, 2, grad=False)),
        Sample(T(3, 4, grad=False), T(4, 2)),
        Sample(T(3, 4, dtype="int64"), T(4, 2, dtype="int64"), grad=False),
        Sample(T(3, 4, dtype="int8", low=-90, high=90), T(4, 2, dtype="int8"), grad=False),
        Sample(T(3, 4, dtype="bool"), T(4, 2, dtype="bool"), grad=False),
        Sample(T(2, 3), T(4, 5), error=(RuntimeError, "mat1 and mat2 shapes cannot")),
        Sample(T(2, 3), T(3, 5, dtype="int64"), error=(RuntimeError, "expected m1 and m2 to")),
        Sample(T(3), T(3, 5), error=(RuntimeError, "self must be a matrix")),
        Sample(T(3, 5), T(5), error=(RuntimeError, "mat2 must be a matrix")),
        Sample(T(3, 5), 3.0, error=(TypeError, "mm(): argument 'mat2' (position 2) must be")),
    ],
    forward="multilinear",
    autocast="lower",
)
def mm(xp: Namespace, input: Array, mat2: Array) -> Array:
    """Product of two matrices.

    >>> torch.mm(torch.eye(2), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    if input.ndim != 2 or mat2.ndim != 2:
        raise RuntimeError(f"{'mat2' if input.ndim == 2 else 'self'} must be a matrix")
    try:
        return xp.matmul2d(input, mat2)
    except ValueError:
        raise shapes_error(input, mat2) from None


def _check_batches(input: Array, mat2: Array) -> None:
    if input.ndim != 3 or mat2.ndim != 3 or input.shape[::2] != mat2.shape[:2]:
        return  # `bmm` says so
    refuse_bool("bmm", input)
    if input.dtype is not mat2.dtype:
        raise errors.runtime_error(
            f"expected scalar type {type_name(input)} but found {type_name(mat2)}", code="RG301"
        )


def _require_batch(number: int, batch: Array) -> None:
    if batch.ndim != 3:
        raise errors.runtime_error(f"batch{number} must be a 3D tensor", code="RG202")


def check_batches(batch1: Array, batch2: Array) -> None:
    """What is asked of two batches of matrices before their product is added to something."""
    for batch, last in ((batch1, 1), (batch2, 2)):
        if not batch.ndim:
            raise errors.explained(
                IndexError(f"Dimension specified as {last} but tensor has no dimensions"),
                code="RG205",
            )
        wrap_dim(last, batch.ndim)
    _require_batch(1, batch1)


def batched_product(xp: Namespace, batch1: Array, batch2: Array) -> Array:
    """The matrix products of two batches of the same length."""
    _require_batch(1, batch1)
    _require_batch(2, batch2)
    count, _, inner = batch1.shape
    if batch2.shape[:2] != (count, inner):
        raise errors.runtime_error(
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{count}, {inner}] but got: [{batch2.shape[0]}, {batch2.shape[1]}].",
            code="RG202",
        )
    return xp.matmul(batch1, batch2)


@op(
    input=lambda m, g, mat2: m.bmm(g, m.transpose(mat2, 1, 2)),
    mat2=lambda m, g, input: m.bmm(m.transpose(input, 1, 2), g),
    check=_check_batches,
    out=True,
    samples=lambda: [
        Sample(T(5, 3, 4), T(5, 4, 2), dtypes=_ALL),
        Sample(T(1, 3, 4), T(1, 4, 2)),
        Sample(T(0, 3, 4), T(0, 4, 2)),
        Sample(T(2, 3, 0), T(2, 0, 2)),
        Sample(T(2, 3, 4, dtype="int32"), T(2, 4, 2, dtype="int32"), grad=False),
        Sample(T(2, 3, 4, dtype="bool"), T(2, 4, 2, dtype="bool"), grad=False),
        Sample(T(5, 3, 4), T(4, 4, 2), error=(RuntimeError, "Expected size for first two")),
        Sample(T(5, 3, 4), T(5, 3, 2), error=(RuntimeError, "Expected size for first two")),
        Sample(T(5, 3, 4), T(5, 4, 2, dtype="int64"), error=(RuntimeError, "expected scalar")),
        Sample(T(3, 4), T(5, 3, 2), error=(RuntimeError, "batch1 must be a 3D tensor")),
        Sample(T(5, 3, 4), T(3, 2), error=(RuntimeError, "batch2 must be a 3D tensor")),
    ],
    forward="multilinear",
    autocast="lower",
)
def bmm(xp: Namespace, input: Array, mat2: Array) -> Array:
    """Products of the matrices of two batches, pair by pair."""
    return batched_product(xp, input, mat2)


def _check_mv(input: Array, vec: Array) -> None:
    if input.ndim != 2 or vec.ndim != 1 or input.shape[1] != vec.shape[0]:
        return  # `mv` says so
    if input.dtype is not vec.dtype:
        kinds = f"{type_name(vec)}, {type_name(input)}, and {type_name(vec)}"
        raise errors.runtime_error(
            f"addmv input tensors must have the same dtype, but got {kinds}", code="RG301"
        )
    if input.size:
        refuse_bool("addmv_impl_cpu", input)


def matrix_times_vector(
    xp: Namespace, matrix: Array, vector: Array, length: int | None = None
) -> Array:
    if matrix.ndim != 2 or vector.ndim != 1:
        raise RuntimeError(
            f"vector + matrix @ vector expected, got 1, {matrix.ndim}, {vector.ndim}"
        )
    rows, columns = matrix.shape
    if columns != vector.shape[0] or (length is not None and length not in (1, rows)):
        raise errors.runtime_error(
            f"size mismatch, got input ({rows if length is None else length}), "
            f"mat ({rows}x{columns}), vec ({vector.shape[0]})",
            code="RG202",
        )
    return xp.dot(matrix, vector)


@op(
    input=lambda m, g, vec: outer_product(m, g, vec),
    vec=lambda m, g, input: m.mv(m.t(input), g),
    check=_check_mv,
    out="structured",
    samples=lambda: [
        Sample(T(3, 4), T(4), dtypes=_ALL),
        Sample(T(0, 4), T(4)),
        Sample(T(3, 0), T(0)),
        Sample(T(3, 4, dtype="int64"), T(4, dtype="int64"), grad=False),
        Sample(T(3, 4), T(4, dtype="int64"), error=(RuntimeError, "addmv input tensors")),
        Sample(T(3, 4), T(3), error=(RuntimeError, "size mismatch, got input (3), mat (3x4)")),
        Sample(T(3), T(3), error=(RuntimeError, "vector + matrix @ vector expected")),
    ],
    forward="multilinear",
)
def mv(xp: Namespace, input: Array, vec: Array) -> Array:
    """Product of a matrix and a vector."""
    return matrix_times_vector(xp, input, vec)


def _check_dot(input: Array, tensor: Array) -> None:
    if input.dtype is not tensor.dtype:
        raise errors.runtime_error(
            "dot : expected both vectors to have same dtype, but found "
            f"{type_name(input)} and {type_name(tensor)}",
            code="RG301",
        )
    refuse_bool("dot", input)


def _check_vectors(a: Array, b: Array) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.shape != b.shape:
        raise errors.runtime_error(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have "
            f"the same number of elements, but got {a.size} and {b.size} elements respectively",
            code="RG202",
        )


def _dot_samples() -> list[Sample]:
    return [
        Sample(T(4), T(4), dtypes=_ALL),
        Sample(T(0), T(0)),
        Sample(T(4, dtype="int64"), T(4, dtype="int64"), grad=False),
        Sample(T(4, dtype="bool"), T(4, dtype="bool"), grad=False),
        Sample(T(3), T(4), error=(RuntimeError, "inconsistent tensor size")),
        Sample(T(3, 3), T(3), error=(RuntimeError, "1D tensors expected, but got 2D and 1D")),
        Sample(T(3), T(3, dtype="int64"), error=(RuntimeError, "dot : expected both vectors")),
    ]


@op(
    input=lambda m, g, tensor: m.mul(g, tensor),
    tensor=lambda m, g, input: m.mul(g, input),
    check=_check_dot,
    out="result dtype {out} does not match input dtype {result}",
    samples=_dot_samples,
    forward="multilinear",
)
def dot(xp: Namespace, input: Array, tensor: Array) -> Array:
    """Sum of the products of two vectors' elements."""
    _check_vectors(input, tensor)
    return xp.asarray(xp.dot(input, tensor))


@op(
    input=lambda m, g, other: m.mul(m.conj(g), other),
    other=lambda m, g, input: m.mul(g, input),
    holomorphic=False,
    check=_check_dot,
    out="result dtype {out} does not match input dtype {result}",
    samples=_dot_samples,
    forward="multilinear",
)
def vdot(xp: Namespace, input: Array, other: Array) -> Array:
    """Sum of the products of two vectors' elements, those of the first conjugated."""
    _check_vectors(input, other)
    return xp.asarray(xp.vdot(input, other))
