"""The distribution of a transformed draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.independent import Independent
from retrograd.distributions.transforms import ComposeTransform, Transform
from retrograd.distributions.utils import _sum_rightmost
from retrograd.engine.grad_mode import no_grad
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of draws of a base distribution after transforms, in order.

    >>> from retrograd.distributions import ExpTransform, Normal, TransformedDistribution
    >>> log_normal = TransformedDistribution(Normal(0.0, 1.0), ExpTransform())
    >>> log_normal.log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    base_dist: Distribution
    transforms: list[Transform]

    def __init__(
        self,
        base_distribution: Distribution,
        transforms: Transform | list[Transform],
        validate_args: bool | None = None,
    ) -> None:
        if isinstance(transforms, Transform):
            self.transforms = [transforms]
        elif isinstance(transforms, list):
            if not all(isinstance(part, Transform) for part in transforms):
                raise ValueError("transforms must be a Transform or a list of Transforms")
            self.transforms = transforms
        else:
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        transform = ComposeTransform(self.transforms)
        domain_dim, codomain_dim = transform.domain.event_dim, transform.codomain.event_dim
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        if len(base_shape) < domain_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{domain_dim}, but got {base_shape}."
            )
        # Parameters of the transforms may have batch dimensions that the base must get.
        shape = Size(transform.forward_shape(base_shape))
        wanted = transform.inverse_shape(shape)
        if base_shape != wanted:
            base_distribution = base_distribution.expand(wanted[: len(wanted) - base_event_dim])
        if domain_dim > base_event_dim:
            base_distribution = Independent(base_distribution, domain_dim - base_event_dim)
        self.base_dist = base_distribution
        event_dim = max(codomain_dim, base_event_dim + codomain_dim - domain_dim)
        if len(shape) < event_dim:
            raise AssertionError(
                f"forward_shape length {len(shape)} must be >= event_dim {event_dim}"
            )
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        new = self._get_checked_instance(TransformedDistribution, _instance)
        batch = Size(batch_shape)
        shape: Sequence[int] = batch + self.event_shape
        for transform in reversed(self.transforms):
            shape = transform.inverse_shape(shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])
        new.transforms = self.transforms
        super(TransformedDistribution, new).__init__(batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        missing = len(self.event_shape) - support.event_dim
        return constraints.independent(support, missing) if missing > 0 else support

    @property
    def has_rsample(self) -> bool:
        return self.base_dist.has_rsample

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        # The base may have draws without having differentiable ones.
        with no_grad():
            return self._transformed(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self._transformed(self.base_dist.rsample(sample_shape))

    def _transformed(self, value: Tensor) -> Tensor:
        for transform in self.transforms:
            value = transform(value)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        event_dim = len(self.event_shape)
        log_prob: float | Tensor = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            domain_dim = transform.domain.event_dim
            event_dim += domain_dim - transform.codomain.event_dim
            change = transform.log_abs_det_jacobian(before, value)
            log_prob = log_prob - _sum_rightmost(change, event_dim - domain_dim)
            value = before
        base = self.base_dist.log_prob(value)
        result: Tensor = log_prob + _sum_rightmost(
            base, event_dim - len(self.base_dist.event_shape)
        )
        return result

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """The probability, or that of the rest where the transforms turn the order round."""
        sign: int | Tensor = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        return self._transformed(self.base_dist.icdf(self._monotonize_cdf(value)))
