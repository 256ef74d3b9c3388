"""Transforms that apply one transform to each of several parts of a tensor."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence

from retrograd.distributions import constraints
from retrograd.distributions.constraints import _Cat, _Stack
from retrograd.distributions.transforms.base import Transform
from retrograd.distributions.utils import _sum_rightmost, lazy_property
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor


def _checked(parts: Sequence[Transform], cache_size: int) -> list[Transform]:
    if not all(isinstance(part, Transform) for part in parts):
        raise AssertionError("All elements of tseq must be Transform instances")
    return [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)


class CatTransform(Transform):
    """One transform for each of some consecutive pieces along a dimension.

    >>> from retrograd.distributions import CatTransform, ExpTransform, identity_transform
    >>> transform = CatTransform([ExpTransform(), identity_transform], lengths=[1, 2])
    >>> transform(torch.zeros(3))
    tensor([1., 0., 0.])
    """

    transforms: list[Transform]

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        parts = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.transforms = parts
        self.lengths = [1] * len(parts) if lengths is None else list(lengths)
        if len(self.lengths) != len(parts):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(parts)})"
            )
        self.dim = dim

    @lazy_property
    def event_dim(self) -> int:
        return max(part.event_dim for part in self.transforms)

    @lazy_property
    def length(self) -> int:
        return sum(self.lengths)

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _pieces(self, value: Tensor, name: str, noun: str) -> list[Tensor]:
        """The pieces of a tensor along `dim`; `name` and `noun` stand in messages."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for {noun} with {value.dim()} dimensions"
            )
        size = value.size(self.dim)
        if size != self.length:
            raise AssertionError(
                f"{name}.size({self.dim}) = {size} must equal length {self.length}"
            )
        pieces = []
        start = 0
        for length in self.lengths:
            pieces.append(value.narrow(self.dim, start, length))
            start += length
        return pieces

    def _call(self, x: Tensor) -> Tensor:
        pieces = self._pieces(x, "x", "tensor")
        changed = [part(piece) for part, piece in zip(self.transforms, pieces, strict=True)]
        return RECORDED.cat(changed, self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        pieces = self._pieces(y, "y", "tensor")
        changed = [part.inv(piece) for part, piece in zip(self.transforms, pieces, strict=True)]
        return RECORDED.cat(changed, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        before, after = self._pieces(x, "x", "x"), self._pieces(y, "y", "y")
        terms = []
        for part, old, new in zip(self.transforms, before, after, strict=True):
            term = part.log_abs_det_jacobian(old, new)
            terms.append(_sum_rightmost(term, self.event_dim - part.event_dim))
        # Pieces along a dimension of events are one event, whose terms are summed.
        dim = (self.dim - x.dim() if self.dim >= 0 else self.dim) + self.event_dim
        return RECORDED.cat(terms, dim) if dim < 0 else functools.reduce(operator.add, terms)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.transforms)

    @constraints.dependent_property()
    def domain(self) -> _Cat:
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property()
    def codomain(self) -> _Cat:
        return constraints.cat([part.codomain for part in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """One transform for each index along a dimension.

    >>> from retrograd.distributions import ExpTransform, StackTransform, identity_transform
    >>> StackTransform([ExpTransform(), identity_transform], dim=1)(torch.zeros(1, 2))
    tensor([[1., 0.]])
    """

    transforms: list[Transform]

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        parts = _checked(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.transforms = parts
        self.dim = dim

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _rows(self, value: Tensor, name: str, noun: str) -> list[Tensor]:
        """The rows of a tensor along `dim`; `name` and `noun` stand in messages."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(
                f"dim {self.dim} out of range for {noun} with {value.dim()} dimensions"
            )
        size, count = value.size(self.dim), len(self.transforms)
        if size != count:
            raise AssertionError(
                f"{name}.size({self.dim}) = {size} must equal len(transforms) {count}"
            )
        return [value.select(self.dim, index) for index in range(size)]

    def _call(self, x: Tensor) -> Tensor:
        rows = self._rows(x, "x", "tensor")
        changed = [part(row) for part, row in zip(self.transforms, rows, strict=True)]
        return RECORDED.stack(changed, self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        rows = self._rows(y, "y", "tensor")
        changed = [part.inv(row) for part, row in zip(self.transforms, rows, strict=True)]
        return RECORDED.stack(changed, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        before, after = self._rows(x, "x", "x"), self._rows(y, "y", "y")
        terms = [
            part.log_abs_det_jacobian(old, new)
            for part, old, new in zip(self.transforms, before, after, strict=True)
        ]
        return RECORDED.stack(terms, self.dim)

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.transforms)

    @constraints.dependent_property()
    def domain(self) -> _Stack:
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @constraints.dependent_property()
    def codomain(self) -> _Stack:
        return constraints.stack([part.codomain for part in self.transforms], self.dim)
