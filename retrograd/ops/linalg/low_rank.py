"""Approximations of large matrices: a few singular vectors, principal components, eigenvectors."""

from __future__ import annotations

from retrograd import dtypes
from retrograd.marks import differs
from retrograd.ops.linalg.matrices import mH, require
from retrograd.ops.random.sampling import randn
from retrograd.ops.registry import PUBLIC, RECORDED, function_only
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor

Three = tuple[Tensor, Tensor, Tensor]


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Columns that nearly span what A does: a random start, and `niter` steps of iteration."""
    kind = A.dtype if A.dtype.category >= dtypes.FLOAT else dtypes.float32
    start = randn(A.shape[-1], q, dtype=kind, device=A.device)
    found = RECORDED.linalg_qr(RECORDED.matmul(A, start), "reduced")[0]
    for _ in range(niter):
        found = RECORDED.linalg_qr(RECORDED.matmul(mH(RECORDED, A), found), "reduced")[0]
        found = RECORDED.linalg_qr(RECORDED.matmul(A, found), "reduced")[0]
    return found


def _svd_lowrank(A: Tensor, q: int, niter: int) -> Three:
    wide = A.shape[-2] < A.shape[-1]
    tall = mH(RECORDED, A) if wide else A
    basis = _basis(tall, q, niter)
    small = RECORDED.matmul(mH(RECORDED, basis), tall)
    u, s, vh = RECORDED.linalg_svd(small, False)
    left, right = RECORDED.matmul(basis, u), mH(RECORDED, vh)
    return (right, s, left) if wide else (left, s, right)


# values depend on random numbers: compared with the same seed in the tests
@function_only(samples=lambda: [Sample(T(0, 3), 0, grad=False)])
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> Three:
    """Nearly the first `q` singular vectors and values of A (or of ``A - M``): U, S, V.

    >>> U, S, V = torch.svd_lowrank(torch.diag(torch.tensor([3.0, 2.0, 1.0])), 3)
    >>> S.round()
    tensor([3., 2., 1.])
    """
    require("svd_lowrank", "A", 1, A)
    if M is not None:
        A = RECORDED.sub(A, M)
    return _svd_lowrank(A, 6 if q is None else q, 2 if niter is None else niter)


@function_only(
    samples=lambda: [
        Sample(T(4, 3), 5, error=(ValueError, "q(=5) must be non-negative integer and not")),
        Sample(T(4, 3), 2, niter=-1, error=(ValueError, "niter(=-1) must be non-negative")),
        Sample(T(4, 3), -1, error=(ValueError, "q(=-1) must be non-negative integer and")),
    ]
)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Three:
    """Nearly the first `q` principal components of the rows of A: U, S, V."""
    rows, columns = require("pca_lowrank", "A", 1, A).shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than min(m, n)="
            f"{min(rows, columns)}"
        )
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = RECORDED.sub(A, RECORDED.mean(A, -2, True))
    return _svd_lowrank(A, q, niter)


@function_only(
    samples=lambda: [
        # eigenvalues and eigenvectors up to their signs are compared in the tests
        Sample(T(2, 3), grad=False, error=(AssertionError, "A must be square, got shape")),
        Sample(T(4, 4), 3, error=(ValueError, "LOBPCG algorithm is not applicable when the nu")),
        Sample(T(4, 4), 1, T(2, 2), error=(AssertionError, "A and B must have same shape")),
    ],
)
@differs("all eigenvectors are computed and the first k kept; signs may differ, niter is not used")
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: object = None,
    ortho_iparams: object = None,
    ortho_fparams: object = None,
    ortho_bparams: object = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of a symmetric matrix, and their eigenvectors.

    With B, those of the problem ``A @ x = value * B @ x``; B is positive-definite.

    >>> torch.lobpcg(torch.diag(torch.tensor([4.0, 3.0, 2.0])), 1)[0]
    tensor([4.])
    """
    array = require("lobpcg", "A", 1, A)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and B.shape != A.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    size = array.shape[-1]
    wanted = (1 if X is None else X.shape[-1]) if k is None else k
    columns = (wanted if X is None else X.shape[-1]) if n is None else n
    if size < 3 * columns:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={size}) is smaller "
            f"than 3 x the number of requested eigenpairs (={columns})"
        )
    down = largest is None or largest
    A = (A + mH(RECORDED, A)) / 2  # the algorithm looks at both triangles alike
    if B is None:
        values, vectors = RECORDED.linalg_eigh(A)
    else:
        # with B = L L^H the matrix L^-1 A L^-H has the same eigenvalues
        lower = PUBLIC["linalg"]["cholesky"](B)
        solve = RECORDED.linalg_solve_triangular
        inner = solve(lower, A, False, True, False)
        inner = solve(lower, mH(RECORDED, inner), False, True, False)
        values, vectors = RECORDED.linalg_eigh(inner)
        vectors = solve(mH(RECORDED, lower), vectors, True, True, False)
    start = size - wanted if down else 0
    values = RECORDED.narrow(values, -1, start, wanted)
    vectors = RECORDED.narrow(vectors, -1, start, wanted)
    if down:
        values, vectors = RECORDED.flip(values, (-1,)), RECORDED.flip(vectors, (-1,))
    return values, vectors
