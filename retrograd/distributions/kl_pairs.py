"""Kullback-Leibler divergences between members of different continuous families.

Where `p` gives values that are impossible under `q`, the divergence is infinite. All others are
integrals of log p - log q under p.
"""
# mypy: no-warn-return-any

from __future__ import annotations

import math

from retrograd.distributions.beta import Beta
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli
from retrograd.distributions.distribution import Distribution
from retrograd.distributions.exponential import Exponential
from retrograd.distributions.gamma import Gamma
from retrograd.distributions.gumbel import Gumbel
from retrograd.distributions.kl import register_kl
from retrograd.distributions.laplace import Laplace
from retrograd.distributions.normal import Normal
from retrograd.distributions.pareto import Pareto
from retrograd.distributions.uniform import Uniform
from retrograd.distributions.utils import euler_constant
from retrograd.ops.making.creation import full_like
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    Gumbel: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Laplace: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Normal: (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform),
    Pareto: (Beta, ContinuousBernoulli, Uniform),
}
# of each family, the parameter that has the shape of the result
_SHAPED = {
    Beta: "concentration1",
    ContinuousBernoulli: "probs",
    Exponential: "rate",
    Gamma: "concentration",
    Gumbel: "loc",
    Laplace: "loc",
    Normal: "loc",
    Pareto: "scale",
}


def _register_infinite() -> None:
    for family, others in _INFINITE.items():

        def infinite(p: Distribution, q: Distribution, name: str = _SHAPED[family]) -> Tensor:
            return full_like(getattr(p, name), math.inf)

        for other in others:
            register_kl(family, other)(infinite)


_register_infinite()


def _x_log_x(x: Tensor) -> Tensor:
    return RECORDED.xlogy(x, x)


# -------------------------------------------------------------------------------------- Beta


@register_kl(Beta, ContinuousBernoulli)
def _kl_beta_continuous_bernoulli(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm()


@register_kl(Beta, Exponential)
def _kl_beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(Beta, Gamma)
def _kl_beta_gamma(p: Beta, q: Gamma) -> Tensor:
    total = p.concentration1 + p.concentration0
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    mean_log = p.concentration1.digamma() - total.digamma()
    powers = (q.concentration - 1) * mean_log
    return -p.entropy() + normalizer - powers + q.rate * p.concentration1 / total


@register_kl(Beta, Normal)
def _kl_beta_normal(p: Beta, q: Normal) -> Tensor:
    total = p.concentration1 + p.concentration0
    mean = p.concentration1 / total
    variance = q.scale.pow(2)
    square = (mean * (1 - mean) / (total + 1) + mean.pow(2)) * 0.5
    distance = square - q.loc * mean + q.loc.pow(2) * 0.5
    return -p.entropy() + 0.5 * (variance * 2 * math.pi).log() + distance / variance


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p: Beta, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)
    return result.masked_fill(outside, math.inf)


# ----------------------------------------------------------------------- ContinuousBernoulli


@register_kl(ContinuousBernoulli, Exponential)
def _kl_continuous_bernoulli_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.mean


@register_kl(ContinuousBernoulli, Normal)
def _kl_continuous_bernoulli_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    normalizer = 0.5 * (math.log(2.0 * math.pi) + (q.loc / q.scale).square()) + q.scale.log()
    distance = p.variance + p.mean.square() - 2.0 * q.loc * p.mean
    return -p.entropy() + normalizer + distance / (2.0 * q.scale.square())


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return result.masked_fill(outside, math.inf)


# ------------------------------------------------------------------------------- Exponential


@register_kl(Exponential, Gamma)
def _kl_exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    return (
        -q.concentration * ratio.log()
        + ratio
        + q.concentration.lgamma()
        + q.concentration * euler_constant
        - (1 + euler_constant)
    )


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    product = p.rate * q.scale
    shift = q.loc / q.scale
    tail = shift.exp() * product / (product + 1)
    return product.log() - 1 - shift + tail + product.reciprocal()


@register_kl(Exponential, Normal)
def _kl_exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, square = q.scale.pow(2), p.rate.pow(2)
    distance = square.reciprocal() - q.loc / p.rate + q.loc.pow(2) * 0.5
    return 0.5 * (square * variance * 2 * math.pi).log() - 1 + distance / variance


# ------------------------------------------------------------------------------------- Gamma


@register_kl(Gamma, Exponential)
def _kl_gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    shape = p.concentration
    product = p.rate * q.scale
    shift = q.loc / q.scale
    own = (shape - 1) * shape.digamma() - shape.lgamma() - shape
    tail = shift.exp() * (1 + product.reciprocal()).pow(-shape) - shift
    return own + product.log() + shape / product + tail


@register_kl(Gamma, Normal)
def _kl_gamma_normal(p: Gamma, q: Normal) -> Tensor:
    shape = p.concentration
    variance, square = q.scale.pow(2), p.rate.pow(2)
    own = 0.5 * (square * variance * 2 * math.pi).log() - shape - shape.lgamma()
    distance = 0.5 * (shape.pow(2) + shape) / square - q.loc * shape / p.rate
    distance = distance + 0.5 * q.loc.pow(2)
    return own + (shape - 1) * shape.digamma() + distance / variance


# ------------------------------------------------------------------- Gumbel, Laplace, Normal


@register_kl(Gumbel, Normal)
def _kl_gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    ratio = p.scale / q.scale
    spread = (math.pi * ratio * 0.5).pow(2) / 3
    distance = ((p.loc + p.scale * euler_constant - q.loc) / q.scale).pow(2) * 0.5
    return -(ratio / math.sqrt(2 * math.pi)).log() + spread + distance - (euler_constant + 1)


@register_kl(Laplace, Normal)
def _kl_laplace_normal(p: Laplace, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    distance = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -0.5 * (2 * ratio / math.pi).log() + ratio + distance / variance - 1


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    mean, shift = p.loc / q.scale, q.loc / q.scale
    ratio = (p.scale / q.scale).pow(2)
    tail = (-mean + 0.5 * ratio + shift).exp()
    return -ratio.log() * 0.5 + mean - shift + tail - 0.5 * (1 + math.log(2 * math.pi))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p: Normal, q: Laplace) -> Tensor:
    difference = p.loc - q.loc
    ratio = difference / p.scale
    bell = math.sqrt(2 / math.pi) * p.scale * (-0.5 * ratio.pow(2)).exp()
    step = difference * (math.sqrt(0.5) * ratio).erf()
    own = -(p.scale / q.scale).log() - 0.5 * (1 + math.log(0.5 * math.pi))
    return own + (bell + step) / q.scale


# ------------------------------------------------------------------------------------ Pareto


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    product = p.scale * q.rate
    own = (p.alpha / product).log() - p.alpha.reciprocal()
    result = own + p.alpha * product / (p.alpha - 1) - 1
    return result.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    mean_log = p.scale.log() + p.alpha.reciprocal()
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    powers = (1 - q.concentration) * mean_log
    tail = q.rate * p.alpha * p.scale / (p.alpha - 1)
    result = p.alpha.log() - mean_log + normalizer + powers + tail - 1
    return result.masked_fill(p.alpha <= 1, math.inf)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p: Pareto, q: Normal) -> Tensor:
    share = p.scale / (p.alpha - 1)
    own = (math.sqrt(2 * math.pi) * q.scale * p.alpha / p.scale).log() - p.alpha.reciprocal()
    variance = p.alpha * share.pow(2) / (p.alpha - 2)
    distance = (p.alpha * share - q.loc).pow(2)
    result = own + (variance + distance) / (2 * q.scale.pow(2)) - 1
    return result.masked_fill(p.alpha <= 2, math.inf)


# ----------------------------------------------------------------------------------- Uniform


def _mean_log(low: Tensor, high: Tensor, width: Tensor) -> Tensor:
    """The mean of log x over an interval."""
    return (_x_log_x(high) - _x_log_x(low) - width) / width


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p: Uniform, q: Beta) -> Tensor:
    width = p.high - p.low
    total = q.concentration1 + q.concentration0
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma() - total.lgamma()
    powers = (q.concentration1 - 1) * _mean_log(p.low, p.high, width)
    # the mirrored interval, from 1 - high to 1 - low
    others = (q.concentration0 - 1) * _mean_log(1 - p.high, 1 - p.low, width)
    result = normalizer - width.log() - powers - others
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return result.masked_fill(outside, math.inf)


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    normalizer = (-q.probs).log1p() + q._cont_bern_log_norm()
    result = -p.entropy() - p.mean * q.logits - normalizer
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return result.masked_fill(outside, math.inf)


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    result = q.rate * (p.high + p.low) / 2 - ((p.high - p.low) * q.rate).log()
    return result.masked_fill(p.low < q.support.lower_bound, math.inf)


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    width = p.high - p.low
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    powers = (1 - q.concentration) * _mean_log(p.low, p.high, width)
    result = -width.log() + normalizer + powers + q.rate * (p.high + p.low) / 2
    return result.masked_fill(p.low < q.support.lower_bound, math.inf)


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    ratio = q.scale / (p.high - p.low)
    high, low = (p.high - q.loc) / q.scale, (p.low - q.loc) / q.scale
    return ratio.log() + 0.5 * (high + low) - ratio * ((-high).exp() - (-low).exp())


@register_kl(Uniform, Normal)
def _kl_uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    own = (math.sqrt(math.pi * 2) * q.scale / width).log()
    distance = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return own + 0.5 * (width.pow(2) / 12 + distance) / q.scale.pow(2)


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    width = p.high - p.low
    normalizer = (q.alpha * q.scale.pow(q.alpha) * width).log()
    result = _mean_log(p.low, p.high, width) * (q.alpha + 1) - normalizer
    return result.masked_fill(p.low < q.support.lower_bound, math.inf)
