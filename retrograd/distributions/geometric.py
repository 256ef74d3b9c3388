"""The geometric distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd import dtypes
from retrograd.distributions import constraints
from retrograd.distributions.parameters import BinaryParameters
from retrograd.distributions.utils import broadcast_all
from retrograd.engine.grad_mode import no_grad
from retrograd.nn.functional import binary_cross_entropy_with_logits
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import contiguous_format

__all__ = ["Geometric"]


class Geometric(BinaryParameters):
    """The number of failures before the first success, which has probability `probs`.

    >>> torch.distributions.Geometric(torch.tensor([0.25])).mean
    tensor([3.])
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._take(probs, logits)
        super().__init__(self._param.size(), validate_args=validate_args)
        if self._validate_args and probs is not None:
            self._check_positive()

    def _check_positive(self) -> None:
        """A probability of zero lies in the unit interval, but never ends."""
        value = self.probs
        valid = value > 0
        if not valid.all():
            raise ValueError(
                "Expected parameter probs "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"of distribution {self!r} "
                f"to be positive but found invalid values:\n{value.data[~valid]}"
            )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return self._expanded(Geometric, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return RECORDED.zeros_like(self.probs)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = dtypes.finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone(memory_format=contiguous_format)
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        crossed = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return crossed / self.probs
