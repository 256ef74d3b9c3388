"""Probability distributions: samples, densities, divergences, with gradients.

>>> import retrograd as torch
>>> torch.distributions.Normal(0.0, 1.0).log_prob(torch.tensor(0.0))
tensor(-0.9189)
"""

from retrograd.distributions import constraints as constraints
from retrograd.distributions import kl_normals as _kl_normals
from retrograd.distributions import kl_pairs as _kl_pairs
from retrograd.distributions import kl_same as _kl_same
from retrograd.distributions import transforms as transforms
from retrograd.distributions.bernoulli import Bernoulli as Bernoulli
from retrograd.distributions.beta import Beta as Beta
from retrograd.distributions.binomial import Binomial as Binomial
from retrograd.distributions.categorical import Categorical as Categorical
from retrograd.distributions.cauchy import Cauchy as Cauchy
from retrograd.distributions.chi2 import Chi2 as Chi2
from retrograd.distributions.constraint_registry import biject_to as biject_to
from retrograd.distributions.constraint_registry import transform_to as transform_to
from retrograd.distributions.continuous_bernoulli import ContinuousBernoulli as ContinuousBernoulli
from retrograd.distributions.dirichlet import Dirichlet as Dirichlet
from retrograd.distributions.distribution import Distribution as Distribution
from retrograd.distributions.exp_family import ExponentialFamily as ExponentialFamily
from retrograd.distributions.exponential import Exponential as Exponential
from retrograd.distributions.fishersnedecor import FisherSnedecor as FisherSnedecor
from retrograd.distributions.gamma import Gamma as Gamma
from retrograd.distributions.generalized_pareto import GeneralizedPareto as GeneralizedPareto
from retrograd.distributions.geometric import Geometric as Geometric
from retrograd.distributions.gumbel import Gumbel as Gumbel
from retrograd.distributions.half_cauchy import HalfCauchy as HalfCauchy
from retrograd.distributions.half_normal import HalfNormal as HalfNormal
from retrograd.distributions.independent import Independent as Independent
from retrograd.distributions.inverse_gamma import InverseGamma as InverseGamma
from retrograd.distributions.kl import kl_divergence as kl_divergence
from retrograd.distributions.kl import register_kl as register_kl
from retrograd.distributions.kumaraswamy import Kumaraswamy as Kumaraswamy
from retrograd.distributions.laplace import Laplace as Laplace
from retrograd.distributions.lkj_cholesky import LKJCholesky as LKJCholesky
from retrograd.distributions.log_normal import LogNormal as LogNormal
from retrograd.distributions.logistic_normal import LogisticNormal as LogisticNormal
from retrograd.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal as LowRankMultivariateNormal,
)
from retrograd.distributions.mixture_same_family import MixtureSameFamily as MixtureSameFamily
from retrograd.distributions.multinomial import Multinomial as Multinomial
from retrograd.distributions.multivariate_normal import MultivariateNormal as MultivariateNormal
from retrograd.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
from retrograd.distributions.normal import Normal as Normal
from retrograd.distributions.one_hot_categorical import OneHotCategorical as OneHotCategorical
from retrograd.distributions.one_hot_categorical import (
    OneHotCategoricalStraightThrough as OneHotCategoricalStraightThrough,
)
from retrograd.distributions.pareto import Pareto as Pareto
from retrograd.distributions.poisson import Poisson as Poisson
from retrograd.distributions.relaxed_bernoulli import RelaxedBernoulli as RelaxedBernoulli
from retrograd.distributions.relaxed_categorical import (
    RelaxedOneHotCategorical as RelaxedOneHotCategorical,
)
from retrograd.distributions.studentT import StudentT as StudentT
from retrograd.distributions.transformed_distribution import (
    TransformedDistribution as TransformedDistribution,
)
from retrograd.distributions.transforms import *  # noqa: F403  (as listed in its `__all__`)
from retrograd.distributions.uniform import Uniform as Uniform
from retrograd.distributions.von_mises import VonMises as VonMises
from retrograd.distributions.weibull import Weibull as Weibull
from retrograd.distributions.wishart import Wishart as Wishart

_LOADED = (_kl_normals, _kl_pairs, _kl_same)  # imported for the divergences they register

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ContinuousBernoulli",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "StudentT",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
__all__ += transforms.__all__
