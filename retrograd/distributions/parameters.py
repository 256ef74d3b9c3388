"""What the families share: expanding parameters, and ones that are given as probs or as logits."""
# mypy: no-warn-return-any

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self, TypeVar

from retrograd.backend import kernels
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import (
    broadcast_all,
    lazy_property,
    logits_to_probs,
    probs_to_logits,
)
from retrograd.dtypes import dtype
from retrograd.engine.state import HOT
from retrograd.ops.making.ranges import arange
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size
from retrograd.types import Device

__all__ = [
    "ONE_OF_TWO",
    "BinaryParameters",
    "broadcast_pair",
    "counted_support",
    "expanded",
    "smallest",
]

_D = TypeVar("_D", bound=Distribution)

ONE_OF_TWO = "Either `probs` or `logits` must be specified, but not both."


# ----------------------------------------------------------------------------- shortcuts
# Agents make a distribution at every step: what they use looks at the arrays first, and goes the
# ordinary way only where that settles nothing.


def smallest(tensor: Tensor) -> float:
    """The smallest element, or NaN if there is one, nothing to compare, or an unusual mode."""
    return math.nan if HOT["UNUSUAL"] else kernels.extremes(tensor._array)[0]


def broadcast_pair(first: Tensor | float, second: Tensor | float) -> tuple[Tensor, ...]:
    """`broadcast_all` of two, which mostly are tensors of one shape."""
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        if first._array.shape == second._array.shape:
            return first, second
    return broadcast_all(first, second)


# ------------------------------------------------------------------------------ parameters


def expanded(
    old: _D,
    family: type[Distribution],
    batch_shape: Sequence[int],
    instance: _D | None,
    names: Sequence[str],
    event_shape: Size | None = None,
) -> _D:
    """A copy of `old` whose parameters of these names are expanded to `batch_shape`.

    Parameters that are not there (computed only when asked for) are left out. A last dimension of
    every parameter that is no batch dimension is `event_shape`.
    """
    new = old._get_checked_instance(family, instance)
    shape = Size(batch_shape)
    whole = shape if event_shape is None else shape + event_shape
    for name in names:
        if name in old.__dict__:
            setattr(new, name, old.__dict__[name].expand(whole))
    Distribution.__init__(new, shape, old._event_shape, validate_args=False)
    new._validate_args = old._validate_args
    return new


def counted_support(count: int, dtype: dtype | None, batch_shape: Size, expand: bool) -> Tensor:
    """0 .. count - 1 along a new first dimension, for each of the batch."""
    values = arange(count, dtype=dtype).view((-1,) + (1,) * len(batch_shape))
    return values.expand((-1, *batch_shape)) if expand else values


class BinaryParameters(Distribution):
    """The probability of an event, given as `probs` or as log odds `logits`.

    The one that is not given follows from the other when it is first read.
    """

    _param: Tensor

    def _take(self, probs: Tensor | float | None, logits: Tensor | float | None) -> None:
        """Keep the one that is given, as a tensor."""
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        kept = self.__dict__
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        (kept[name],) = broadcast_all(given)
        self._param = kept[name]

    def _take_with_count(
        self,
        total_count: Tensor | float,
        probs: Tensor | float | None,
        logits: Tensor | float | None,
    ) -> None:
        """The same with a number of trials, which gets the shape and dtype of the other."""
        if (probs is None) == (logits is None):
            raise ValueError(ONE_OF_TWO)
        kept = self.__dict__
        name, given = ("logits", logits) if probs is None else ("probs", probs)
        count, kept[name] = broadcast_all(total_count, given)
        self._param = kept[name]
        kept["total_count"] = count.type_as(self._param)

    def _expanded(
        self, family: type[Distribution], batch_shape: Sequence[int], instance: Self | None
    ) -> Self:
        new = expanded(self, family, batch_shape, instance, ("total_count", "probs", "logits"))
        new._param = new.__dict__["logits" if "logits" in new.__dict__ else "probs"]
        return new

    def _new(self, *args: object, **kwargs: Device) -> Tensor:
        return self._param.new(*args, **kwargs)

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._param.size()
