"""The categorical distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np

from retrograd import dtypes
from retrograd.backend import kernels
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.parameters import ONE_OF_TWO, counted_support, expanded, smallest
from retrograd.distributions.utils import lazy_property, logits_to_probs, probs_to_logits
from retrograd.engine.state import HOT
from retrograd.ops.making.construction import fresh
from retrograd.ops.making.creation import full
from retrograd.ops.random.sampling import multinomial
from retrograd.ops.shapes.broadcasting import broadcast_tensors
from retrograd.random.multinomial import multinomial as multinomial_array
from retrograd.random.state import default_generator
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size
from retrograd.types import Device

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index into the last dimension of `probs` (weights) or `logits` (log weights).

    >>> distribution = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> distribution.log_prob(torch.tensor(1)).exp()
    tensor(0.7500)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "probs": constraints.simplex,
        "logits": constraints.real_vector,
    }
    has_enumerate_support = True

    _param: Tensor

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self._param = self.__dict__["probs"] = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            normalized = logits - logits.logsumexp(dim=-1, keepdim=True)
            self._param = self.__dict__["logits"] = normalized
        *batch, self._num_events = self._param._array.shape
        super().__init__(Size(batch), validate_args=validate_args)

    def _validate_parameters(self) -> None:
        low = smallest(self._param)
        if self.arg_constraints is Categorical.arg_constraints:
            if "logits" in self.__dict__:
                if low == low:  # not NaN
                    return
            elif low >= 0 and np.abs(self._param._array.sum(-1) - 1).max() < 1e-6:
                return
        super()._validate_parameters()

    def _validate_sample(self, value: Tensor) -> None:
        # whole numbers in the shape of the batch, none too small or too large
        own = type(self).support is Categorical.support
        if own and not HOT["UNUSUAL"] and isinstance(value, Tensor):
            low, high = kernels.extremes(value._array)
            if value._array.dtype is dtypes.I64 and value._array.shape == self._batch_shape:
                if 0 <= low and high < self._num_events:
                    return
        super()._validate_sample(value)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        events = Size((self._num_events,))
        new = expanded(self, Categorical, batch_shape, _instance, ("probs", "logits"), events)
        new._param = new.__dict__["logits" if "logits" in new.__dict__ else "probs"]
        new._num_events = self._num_events
        return new

    def _new(self, *args: object, **kwargs: Device) -> Tensor:
        return self._param.new(*args, **kwargs)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        """The indices of the categories."""
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._param.size()

    @property
    def mean(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        wanted = tuple(sample_shape)
        shape, count = self._extended_shape(wanted), math.prod(wanted)
        probs = self.probs._array
        plain = type(probs) is np.ndarray and not HOT["UNUSUAL"]
        if plain and (probs.size == self._num_events or count == 1):
            rows = probs.reshape(-1, self._num_events)
            return fresh(multinomial_array(default_generator, rows, count, True).reshape(shape))
        draws = multinomial(self.probs.reshape(-1, self._num_events), count, True)
        return draws.T.reshape(shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        if value._array.dtype is not dtypes.I64:
            value = value.long()
        value, log_probs = value.unsqueeze(-1), self.logits
        if value._array.shape[:-1] == log_probs._array.shape[:-1]:
            return log_probs.gather(-1, value).squeeze(-1)
        value, log_probs = broadcast_tensors(value, log_probs)
        return log_probs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # a probability of zero has a logit of minus infinity: their product is zero
        logits = self.logits.clamp(min=dtypes.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return counted_support(self._num_events, dtypes.int64, self._batch_shape, expand)
