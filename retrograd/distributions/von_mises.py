"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from retrograd import dtypes
from retrograd.distributions import constraints
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.utils import broadcast_all, lazy_property
from retrograd.engine.grad_mode import no_grad
from retrograd.ops.making.creation import empty, zeros
from retrograd.ops.random.sampling import rand
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

__all__ = ["VonMises"]

# Polynomials for the modified Bessel functions I0 and I1 (Abramowitz and Stegun, 9.8.1 to 9.8.4):
# in (x / 3.75) ** 2 below 3.75, in 3.75 / x above; the constant comes first.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        *(0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2),
        *(-0.2057706e-1, 0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    ),
    (
        *(0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1),
        *(0.2282967e-1, -0.2895312e-1, 0.1787654e-1, -0.420059e-2),
    ),
)


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    result = coefficients[-2] + x * coefficients[-1]
    for coefficient in coefficients[-3::-1]:
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x: Tensor, order: int = 0) -> Tensor:
    """log I0(x) or log I1(x) of positive numbers."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    ratio = x / 3.75
    small = _polynomial(ratio * ratio, _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return RECORDED.where(x < 3.75, small.log(), large)


def _rejection_sample(loc: Tensor, concentration: Tensor, proposal_r: Tensor, x: Tensor) -> Tensor:
    """Draws by the method of Best and Fisher (1979); rounds go on until every one is accepted."""
    done: Tensor = zeros(x.shape, dtype=dtypes.bool_)
    while not done.all():
        u1, u2, u3 = rand((3, *x.shape), dtype=loc.dtype).unbind()
        z = (math.pi * u1).cos()
        f: Tensor = (1 + proposal_r * z) / (proposal_r + z)
        c: Tensor = concentration * (proposal_r - f)
        accept: Tensor = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = RECORDED.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles around `loc`, the closer the larger `concentration` is.

    `mean` and `variance` are the circular ones.

    >>> torch.distributions.VonMises(torch.tensor(1.0), torch.tensor(2.0)).mean
    tensor(1.)
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real,
        "concentration": constraints.positive,
    }
    support = constraints.real
    has_rsample = False

    loc: Tensor
    concentration: Tensor

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Self | None = None) -> Self:
        return type(self)(
            self.loc.expand(batch_shape),
            self.concentration.expand(batch_shape),
            validate_args=self.__dict__.get("_validate_args"),
        )

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance."""
        first = _log_modified_bessel_fn(self.concentration, order=1)
        return 1 - (first - _log_modified_bessel_fn(self.concentration, order=0)).exp()

    # Draws are made in float64: in float32 small concentrations are never accepted.

    @lazy_property
    def _loc(self) -> Tensor:
        return self.loc.to(dtypes.float64)

    @lazy_property
    def _concentration(self) -> Tensor:
        return self.concentration.to(dtypes.float64)

    @lazy_property
    def _proposal_r(self) -> Tensor:
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        near_zero = 1 / kappa + kappa
        return RECORDED.where(kappa < 1e-5, near_zero, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            x = empty(self._extended_shape(sample_shape), dtype=dtypes.float64)
            draws = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
            return draws.to(self.loc.dtype)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check_value(value)
        height = self.concentration * (value - self.loc).cos()
        return height - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)
