"""What all distributions have in common: shapes, validation, sampling, densities."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

from retrograd.distributions import constraints
from retrograd.distributions.utils import lazy_property
from retrograd.engine.grad_mode import no_grad
from retrograd.lifecycle.site import user_level
from retrograd.tensor import Tensor
from retrograd.tensor.size import Size

__all__ = ["Distribution"]

_SCALAR = Size()


class Distribution:
    """A batch of probability distributions of one family.

    `batch_shape` is the shape of the parameters, `event_shape` the shape of one draw; a sample of
    shape s has the shape s + batch_shape + event_shape.

    >>> class Coin(torch.distributions.Distribution):
    ...     arg_constraints = {}
    ...     def sample(self, sample_shape=()):
    ...         return torch.zeros(self._extended_shape(sample_shape))
    >>> Coin(torch.Size([2])).sample((3,)).shape
    torch.Size([3, 2])
    """

    if TYPE_CHECKING:

        @property
        def has_rsample(self) -> bool: ...
        @property
        def has_enumerate_support(self) -> bool: ...
    else:
        has_rsample = has_enumerate_support = False

    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments when `validate_args` is not given."""
        if value not in [True, False]:
            raise ValueError
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Size = _SCALAR,
        event_shape: Size = _SCALAR,
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self) -> None:
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            arg_constraints = {}
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=user_level(),
            )
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue  # only a distribution with values can say what is allowed
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue  # it follows from another parameter, which is checked
            value = getattr(self, name)
            if not constraint.check(value)._elements().all():  # of all examples, if in vmap
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        """The distribution with its batch dimensions expanded; parameters become views."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of a single draw from one of the batch."""
        return self._event_shape

    @property
    def arg_constraints(self) -> dict[str, constraints.Constraint]:
        """What each parameter must satisfy: a dict of constraints."""
        raise NotImplementedError

    @property
    def support(self) -> constraints.Constraint:
        """The constraint that all draws satisfy."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The most probable value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The standard deviation."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws of shape `sample_shape`, without a gradient."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        """Draws that are differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`n` draws; `sample` with a shape takes its place."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning,
            stacklevel=user_level(),
        )
        return self.sample(Size((n,)))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or probability at `value`."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a draw of at most `value`."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of `cdf`."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution along dimension 0."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, one number for each of the batch."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape: Sequence[int] = Size()) -> Size:
        """The shape of a sample: sample_shape + batch_shape + event_shape."""
        return Size((*tuple(sample_shape), *self._batch_shape, *self._event_shape))

    def _check_value(self, value: Tensor) -> None:
        if self._validate_args:
            self._validate_sample(value)

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless `value` has a fitting shape and lies in the support."""
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        shape = value.size()
        if shape[len(shape) - len(self._event_shape) :] != self._event_shape:
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(shape), reversed(expected), strict=False):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{shape} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable "
                "sample validation. Please initialize the distribution with "
                "`validate_args=False` to turn off validation.",
                stacklevel=user_level(),
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value)._elements().all():
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _get_checked_instance(self, cls: type, _instance: Self | None = None) -> Self:
        """An empty instance for `expand` to fill: `_instance`, or a new one of this class."""
        if _instance is not None:
            return _instance
        if type(self).__init__ != cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom "
                "__init__ method must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def __repr__(self) -> str:
        given = [(name, self.__dict__[name]) for name in self.arg_constraints if name in vars(self)]
        shown = [f"{name}: {v if v.numel() == 1 else v.size()}" for name, v in given]
        return f"{self.__class__.__name__}({', '.join(shown)})"
