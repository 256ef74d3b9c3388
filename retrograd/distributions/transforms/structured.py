"""Transforms of vectors and matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence

from retrograd import dtypes
from retrograd.distributions import constraints
from retrograd.distributions.constraints import _IndependentConstraint
from retrograd.distributions.transforms.base import Transform
from retrograd.distributions.transforms.elementwise import _clipped_sigmoid
from retrograd.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix
from retrograd.ops.linalg.cholesky import cholesky
from retrograd.ops.making.creation import eye
from retrograd.ops.neural.padding import pad
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size


def _require_dimensions(shape: Sequence[int], count: int) -> None:
    if len(shape) < count:
        raise ValueError("Too few dimensions on input")


class ReshapeTransform(Transform):
    """Events of one shape, read as events of another.

    >>> torch.distributions.ReshapeTransform((6,), (2, 3))(torch.zeros(5, 6)).shape
    torch.Size([5, 2, 3])
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape = Size(in_shape)
        self.out_shape = Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property()
    def domain(self) -> _IndependentConstraint:
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property()
    def codomain(self) -> _IndependentConstraint:
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._replaced(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        return self._replaced(shape, self.out_shape, self.in_shape)

    def _replaced(self, shape: Sequence[int], old: Size, new: Size) -> Sequence[int]:
        """The shape with its end `old` replaced by `new`."""
        _require_dimensions(shape, len(old))
        cut = len(shape) - len(old)
        if shape[cut:] != old:
            raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
        return shape[:cut] + new


class SoftmaxTransform(Transform):
    """y = exp(x), normalized; not bijective, as a number added to all x changes nothing.

    >>> torch.distributions.SoftmaxTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftmaxTransform)

    def _call(self, x: Tensor) -> Tensor:
        weights: Tensor = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 1)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 1)
        return shape


class StickBreakingTransform(Transform):
    """n numbers to a simplex of n + 1: each number says which part of the rest to break off.

    >>> torch.distributions.StickBreakingTransform()(torch.tensor([0.0, 0.0]))
    tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StickBreakingTransform)

    def _call(self, x: Tensor) -> Tensor:
        part = _clipped_sigmoid(x - self._offset(x).log())
        rest = (1 - part).cumprod(-1)
        return pad(part, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        broken = y[..., :-1]
        # rounding may leave a rest that is not positive
        rest = (1 - broken.cumsum(-1)).clamp(min=dtypes.finfo(y.dtype).tiny)
        return broken.log() - rest.log() + self._offset(broken).log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        x = x - self._offset(x).log()
        return (-x + RECORDED.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    @staticmethod
    def _offset(x: Tensor) -> Tensor:
        """n, n - 1, ..., 1: with it, zeros become equal parts."""
        return x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 1)
        return shape[:-1] + Size((shape[-1] + 1,))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 1)
        return shape[:-1] + Size((shape[-1] - 1,))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix of size n.

    The hyperbolic tangents of the numbers, row by row, are partial correlations; breaking sticks
    of their squares gives rows of length 1.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x: Tensor) -> Tensor:
        eps = dtypes.finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        rest = (1 - partial**2).sqrt().cumprod(-1)
        signed = partial + eye(partial.shape[-1], dtype=partial.dtype)
        return signed * pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        rest = 1 - (y * y).cumsum(dim=-1)
        shifted = pad(rest[..., :-1], [1, 0], value=1)
        below = tril_matrix_to_vec(y, diag=-1)
        partial: Tensor = below / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor, intermediates: object = None) -> Tensor:
        # of the map to the elements below the diagonal; the others follow from them
        rest = 1 - (y * y).cumsum(dim=-1)
        breaking = 0.5 * tril_matrix_to_vec(rest, diag=-2).log().sum(-1)
        squashing = -2 * (x + RECORDED.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return breaking + squashing

    def forward_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 1)
        length = shape[-1]
        size = round((0.25 + 2 * length) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != length:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + Size((size, size))

    def inverse_shape(self, shape: Sequence[int]) -> Sequence[int]:
        _require_dimensions(shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        return shape[:-2] + Size((size * (size - 1) // 2,))


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones whose diagonal, an exponential, is positive.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LowerCholeskyTransform)

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones, by way of their Cholesky factor.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PositiveDefiniteTransform)

    def _call(self, x: Tensor) -> Tensor:
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y: Tensor) -> Tensor:
        return LowerCholeskyTransform().inv(cholesky(y))
