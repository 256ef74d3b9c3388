"""Distributions of the exponential family."""

from __future__ import annotations

from retrograd.autograd.api import grad
from retrograd.distributions.distribution import Distribution
from retrograd.tensor import Tensor

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density exp(<t(x), parameters> - normalizer(parameters) + k(x)).

    A subclass that gives its natural parameters, their log normalizer and the mean of the carrier
    measure k gets its entropy from the gradient of the normalizer.

    >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The natural parameters."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """The logarithm of the normalizer, a function of the natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        """The mean of k(x)."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy: the normalizer less the parameters times its gradient."""
        parameters = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*parameters)
        gradients = grad(normalizer.sum(), parameters, create_graph=True)
        result: Tensor = -self._mean_carrier_measure + normalizer
        for parameter, gradient in zip(parameters, gradients, strict=True):
            result = result - (parameter * gradient).reshape((*self._batch_shape, -1)).sum(-1)
        return result
