"""Batching rules of products of matrices and of `linalg`: the batch is one more of matrices."""

from __future__ import annotations

from retrograd.engine.fitting import expands
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.transforms.batching.rules import BatchedCall, Rule, batching, loop


def _ranks(call: BatchedCall, **ranks: int) -> bool:
    """Whether the operands have the ranks that the op asks for, and one dtype."""
    kinds = {call[name]._array.dtype for name in ranks}
    return len(kinds) == 1 and all(call.rank(name) == rank for name, rank in ranks.items())


@batching("mm")
def _mm(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, input=2, mat2=2):
        return loop(call)  # raises
    return [_product(call, call.front("input"), call.front("mat2"))]


def _product(call: BatchedCall, first: Tensor, second: Tensor) -> Tensor:
    """The product of two matrices, one of which or both have the batch in front."""
    if first._array.ndim == 3 and second._array.ndim == 3:
        return RECORDED.bmm(first, second)
    if first._array.ndim == 3:
        size, rows, inner = first._array.shape
        flat = RECORDED.mm(RECORDED.reshape(first, (size * rows, inner)), second)
        return RECORDED.view(flat, (size, rows, flat._array.shape[1]))
    return RECORDED.matmul(first, second)


@batching("bmm")
def _bmm(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, input=3, mat2=3) or call.shape("input")[0] != call.shape("mat2")[0]:
        return loop(call)  # raises
    return [RECORDED.matmul(call.front("input"), call.front("mat2"))]


@batching("baddbmm")
def _baddbmm(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, batch1=3, batch2=3) or call["input"]._array.dtype.kind not in "fc":
        return loop(call)  # raises, or counts with integers
    first, second = call.shape("batch1"), call.shape("batch2")
    shape = (first[0], first[1], second[2])
    if first[0] != second[0] or call.rank("input") > 3 or not call.size:
        return loop(call)  # raises
    if not expands(call.shape("input"), shape):
        return loop(call)  # raises
    tensors = {"batch1": call.expanded("batch1"), "batch2": call.expanded("batch2")}
    tensors["input"] = _as_matrix(call, call["input"], shape)
    count = call.size * shape[0]
    flat = {
        name: RECORDED.reshape(tensor, (count, *tensor._array.shape[2:]))
        for name, tensor in tensors.items()
    }
    return [RECORDED.reshape(call.run(**flat)[0], (call.size, *shape))]


@batching("mv")
def _mv(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, input=2, vec=1):
        return loop(call)  # raises
    matrix, vector = call.front("input"), call.front("vec")
    if not call.is_batched("vec"):
        size, rows, inner = matrix._array.shape
        flat = RECORDED.mv(RECORDED.reshape(matrix, (size * rows, inner)), vector)
        return [RECORDED.view(flat, (size, rows))]
    if not call.is_batched("input"):
        return [RECORDED.mm(vector, RECORDED.t(matrix))]
    return [RECORDED.squeeze(RECORDED.bmm(matrix, RECORDED.unsqueeze(vector, -1)), -1)]


def _dot_of(call: BatchedCall, first: Tensor, second: Tensor) -> list[Tensor]:
    row, column = RECORDED.unsqueeze(first, 1), RECORDED.unsqueeze(second, 2)
    return [RECORDED.reshape(RECORDED.bmm(row, column), (call.size,))]


@batching("dot")
def _dot(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, input=1, tensor=1):
        return loop(call)  # raises
    return _dot_of(call, call.expanded("input"), call.expanded("tensor"))


@batching("vdot")
def _vdot(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, input=1, other=1):
        return loop(call)  # raises
    first: Tensor = call.expanded("input")
    return _dot_of(call, first.conj(), call.expanded("other"))


@batching("addmm")
def _addmm(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, mat1=2, mat2=2) or call.rank("input") > 2:
        return loop(call)  # raises
    (rows, inner), columns = call.shape("mat1"), call.shape("mat2")[1]
    bias = call["input"]
    if not expands(call.shape("input"), (rows, columns)):
        return loop(call)  # raises
    by_row = call.rank("input") < 2 or call.shape("input")[0] == 1
    if call.is_batched("mat1") and not call.is_batched("mat2") and bias._level < call.level:
        if by_row:  # a layer with one weight: all examples are rows of one matrix
            flat = RECORDED.reshape(call.front("mat1"), (call.size * rows, inner))
            result = call.run(mat1=flat)[0]
            return [RECORDED.view(result, (call.size, rows, columns))]
    batch1, batch2 = call.expanded("mat1"), call.expanded("mat2")
    added = _as_matrix(call, bias, (rows, columns))
    return [RECORDED.baddbmm(added, batch1, batch2, beta=call["beta"], alpha=call["alpha"])]


def _as_matrix(call: BatchedCall, value: Tensor, shape: tuple[int, ...]) -> Tensor:
    """An operand that is broadcast to the shape of each example, with the batch."""
    wide: Tensor = call.with_batch(value)
    own = tuple(value._array.shape)
    if own == shape:
        return wide
    padded = RECORDED.reshape(wide, (call.size, *(1,) * (len(shape) - len(own)), *own))
    return RECORDED.expand(padded, (call.size, *shape))


@batching("addmv")
def _addmv(call: BatchedCall) -> list[Tensor]:
    if not _ranks(call, mat=2, vec=1) or call.rank("input") > 1:
        return loop(call)  # raises
    rows = call.shape("mat")[0]
    if not expands(call.shape("input"), (rows,)):
        return loop(call)  # raises
    scales = {"beta": call["beta"], "alpha": call["alpha"]}
    if not call.is_batched("mat") and not call.is_batched("input"):  # a layer with one weight
        return [RECORDED.addmm(call["input"], call.front("vec"), RECORDED.t(call["mat"]), **scales)]
    matrix, column = call.expanded("mat"), RECORDED.unsqueeze(call.expanded("vec"), -1)
    added = RECORDED.unsqueeze(_as_matrix(call, call["input"], (rows,)), -1)
    return [RECORDED.squeeze(RECORDED.baddbmm(added, matrix, column, **scales), -1)]


# --------------------------------------------------------------------------------- attention


@batching("_attention")
def _attention(call: BatchedCall) -> list[Tensor]:
    if call["attn_mask"] is not None:
        return loop(call)
    return call.run(**{name: call.expanded(name) for name in ("query", "key", "value")})


# ------------------------------------------------------------------------------------- linalg


@batching(
    *("linalg_cholesky_ex", "_cholesky_factor", "linalg_matrix_exp", "linalg_inv_ex"),
    *("_cofactors", "linalg_det", "linalg_slogdet", "linalg_svd", "_singular_values"),
    *("linalg_eigh", "_symmetric_eigenvalues", "linalg_eig", "geqrf"),
    *("linalg_lu", "linalg_lu_factor_ex"),
)
def _one_matrix(call: BatchedCall) -> list[Tensor]:
    return call.run(input=call.front("input")) if call.rank("input") > 1 else loop(call)  # raises


@batching("linalg_qr")
def _qr(call: BatchedCall) -> list[Tensor]:
    # with this mode, Q has no elements
    return loop(call) if call["mode"] == "r" else _one_matrix(call)


def _two(first: str, second: str) -> Rule:
    """The rule of an op of two stacks of matrices."""

    def rule(call: BatchedCall) -> list[Tensor]:
        if call.rank(first) != call.rank(second) or call.rank(first) < 2:
            return loop(call)
        return call.run(**{first: call.expanded(first), second: call.expanded(second)})

    return rule


batching("cholesky_solve")(_two("input", "L"))
batching("linalg_solve_triangular", "linalg_solve_ex")(_two("A", "B"))
batching("_cdist", "_euclidean_dist")(_two("x1", "x2"))


@batching("linalg_pinv")
def _pinv(call: BatchedCall) -> list[Tensor]:
    if not all(isinstance(call[name], (float, int, type(None))) for name in ("atol", "rtol")):
        return loop(call)  # a tolerance for each of an example's matrices
    return _one_matrix(call)


@batching("cholesky_inverse")
def _cholesky_inverse(call: BatchedCall) -> list[Tensor]:
    return call.run(L=call.front("L")) if call.rank("L") > 1 else loop(call)


@batching("lu_unpack")
def _lu_unpack(call: BatchedCall) -> list[Tensor]:
    every = call["unpack_data"] and call["unpack_pivots"]  # else there are empty results
    if call.rank("LU_data") != call.rank("LU_pivots") + 1 or not every:
        return loop(call)
    return call.run(LU_data=call.expanded("LU_data"), LU_pivots=call.expanded("LU_pivots"))
