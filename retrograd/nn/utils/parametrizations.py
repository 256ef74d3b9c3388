"""Ready-made parametrizations: orthogonal matrices, weight and spectral normalization."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from retrograd import linalg
from retrograd.dtypes import finfo
from retrograd.engine.grad_mode import no_grad
from retrograd.nn import functional
from retrograd.nn.conv import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from retrograd.nn.module import Module
from retrograd.nn.utils.parametrize import register_parametrization
from retrograd.notices import explained
from retrograd.ops.making.creation import eye, zeros_like
from retrograd.ops.random.sampling import randn
from retrograd.ops.registry import PUBLIC, RECORDED
from retrograd.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


# ---------------------------------------------------------------------- orthogonal matrices


def _is_orthogonal(matrix: Tensor) -> bool:
    rows, columns = matrix.shape[-2:]
    identity = eye(columns, dtype=matrix.dtype)
    tolerance = 10.0 * rows * finfo(matrix.dtype).eps
    close: bool = PUBLIC["torch"]["allclose"](matrix.mH @ matrix, identity, atol=tolerance)
    return close


def _make_orthogonal(matrix: object) -> Any:
    """The orthogonal factor, with the signs that make the other one's diagonal positive."""
    reflections, factors = PUBLIC["torch"]["geqrf"](matrix)
    signs = reflections.diagonal(dim1=-2, dim2=-1).sgn()
    return linalg.householder_product(reflections, factors) * signs.unsqueeze(-2)


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


class _Orthogonal(Module):
    """Maps any matrix to one with orthonormal columns (or rows, where it is wide).

    With a `base`, an orthogonal matrix, the result is the base times the mapped one; assigning a
    value replaces the base, and the parameter starts again from what is mapped to the identity.
    """

    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map is _OrthMaps.householder:
            raise explained(
                ValueError("The householder parametrization does not support complex tensors."),
                code="RG304",
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Tensor) -> Tensor:
        wide = X.size(-2) < X.size(-1)
        if wide:
            X = X.mT
        if self.orthogonal_map is _OrthMaps.householder:
            result = self._reflected(X)
        else:
            result = self._rotated(X)
        if hasattr(self, "base"):
            result = self.base @ result
        return result.mT if wide else result

    def _rotated(self, X: Tensor) -> Tensor:
        """An orthogonal matrix from a skew one, by the exponential or by Cayley's map."""
        rows, columns = X.shape[-2:]
        X = X.tril()
        if rows != columns:
            zeros = X.new_zeros(rows, rows - columns).expand(*X.shape[:-2], -1, -1)
            X = RECORDED.cat([X, zeros], dim=-1)
        skew = X - X.mH
        if self.orthogonal_map is _OrthMaps.matrix_exp:
            result = linalg.matrix_exp(skew)
        else:
            identity = eye(rows, dtype=skew.dtype)
            result = linalg.solve(identity.add(skew, alpha=-0.5), identity.add(skew, alpha=0.5))
        return result if rows == columns else result[..., :columns]

    def _reflected(self, X: Tensor) -> Tensor:
        """A product of reflections; the diagonal holds the signs of the columns."""
        below = X.tril(diagonal=-1)
        factors = 2.0 / (1.0 + (below * below).sum(dim=-2))
        result = linalg.householder_product(below, factors)
        return result * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def right_inverse(self, Q: Any) -> Any:
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        with no_grad():
            return self._start_for(Q)

    def _start_for(self, Q: Any) -> Any:
        wide = Q.size(-2) < Q.size(-1)
        tall = Q.mT if wide else Q
        if hasattr(self, "base"):
            return self._rebased(Q, tall)
        if self.orthogonal_map is not _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        reflections, factors = PUBLIC["torch"]["geqrf"](tall)
        diagonal = reflections.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        # LAPACK reflects nothing where the factor is zero, but `forward` does reflect
        diagonal[factors == 0.0] *= -1
        return reflections.mT if wide else reflections

    def _rebased(self, Q: Tensor, tall: Tensor) -> Tensor:
        rows, columns = tall.shape[-2:]
        if rows != columns:
            more = randn(*tall.shape[:-2], rows, rows - columns, dtype=tall.dtype)
            self.base = _make_orthogonal(RECORDED.cat([tall, more], dim=-1))
        elif _is_orthogonal(tall):
            self.base = tall.clone()
        else:
            self.base = _make_orthogonal(tall)
        # Skew parts of diagonals are zero, so the exponential and Cayley's map give the identity;
        # reflections along the axes with these signs do as well.
        start = zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
) -> Module:
    """Keep a matrix of a module orthogonal.

    orthogonal_map  "matrix_exp", "cayley" or "householder": how any matrix becomes one
    use_trivialization  multiply by a fixed orthogonal matrix, so that values can be assigned

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 3))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(3), atol=1e-5)
    True
    """
    weight: object = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    chosen = getattr(_OrthMaps, orthogonal_map, None)
    if chosen is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, chosen, use_trivialization=use_trivialization)
    return register_parametrization(module, name, parametrization, unsafe=True)


# ---------------------------------------------------------------------- weight normalization


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Any:
        return PUBLIC["torch"]["_weight_norm"](weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return PUBLIC["torch"]["norm_except_dim"](weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Train the lengths (`original0`) and directions (`original1`) of a weight's rows separately.

    dim  what the rows are; None for one length of all

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def rename_old_keys(state_dict: dict[str, object], prefix: str, *others: object) -> None:
        """State of the older `torch.nn.utils.weight_norm`."""
        old = [f"{prefix}{name}{ending}" for ending in ("_g", "_v")]
        if all(key in state_dict for key in old):
            for number, key in enumerate(old):
                new = f"{prefix}parametrizations.{name}.original{number}"
                state_dict[new] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(rename_old_keys)
    return module


# ---------------------------------------------------------------------- spectral normalization


class _SpectralNorm(Module):
    """Divides a weight by its largest singular value, which power iteration follows."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if not -ndim <= dim < ndim:
            raise explained(
                IndexError(
                    f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] "
                    f"but got {dim})"
                ),
                code="RG205",
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim == 1:  # its length is the singular value
            return
        self.n_power_iterations = n_power_iterations
        matrix = self._as_matrix(weight)
        for name, size in (("_u", matrix.size(0)), ("_v", matrix.size(1))):
            vector = matrix.new_empty(size).normal_(0, 1)
            self.register_buffer(name, functional.normalize(vector, dim=0, eps=eps))
        self._iterate(matrix, 15)

    def _as_matrix(self, weight: Tensor) -> Tensor:
        if self.dim != 0:
            weight = weight.permute(self.dim, *(d for d in range(weight.ndim) if d != self.dim))
        return weight.flatten(1)

    def _iterate(self, matrix: Tensor, iterations: int) -> None:
        # Written into the buffers: a replica of the module shares them.
        with no_grad():
            for _ in range(iterations):
                functional.normalize(matrix.mv(self._v), dim=0, eps=self.eps, out=self._u)
                functional.normalize(matrix.mH.mv(self._u), dim=0, eps=self.eps, out=self._v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return functional.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            self._iterate(matrix, self.n_power_iterations)
        # Copies, since a second call writes into the buffers before the first one's backward.
        u, v = self._u.clone(), self._v.clone()
        return weight / RECORDED.vdot(u, matrix.mv(v))

    def right_inverse(self, value: Tensor) -> Tensor:
        return value  # it may be normalized already or not: there is nothing better to start from


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Divide a weight by its largest singular value.

    n_power_iterations  steps per access in training; in evaluation the estimate stays
    dim  what the rows of the matrix are: 0, or 1 for transposed convolutions

    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> 0.8 < torch.linalg.matrix_norm(layer.weight, 2) < 1.2
    tensor(True)
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        transposed = isinstance(module, ConvTranspose1d | ConvTranspose2d | ConvTranspose3d)
        dim = 1 if transposed else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, parametrization)
