"""Special functions on NumPy arrays, without SciPy.

Every function takes float32 or float64 arrays of any shape and layout and returns a new array of
the same dtype (zero-dimensional arrays included), with PyTorch's values at the edges of the domain
and no NumPy warnings.
"""

from retrograd.backend.neutral.special_bessel import (
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    i0,
    i0e,
    i1,
    i1e,
)
from retrograd.backend.neutral.special_erf import erf, erfc, erfcx, erfinv, log_ndtr, ndtr, ndtri
from retrograd.backend.neutral.special_gamma import digamma, gammaln, lgamma, polygamma, zeta
from retrograd.backend.neutral.special_incomplete_gamma import gammainc, gammaincc
from retrograd.backend.neutral.special_logistic import (
    entr,
    expit,
    log_sigmoid,
    logaddexp,
    logaddexp2,
    logit,
    sinc,
    softplus,
    xlog1py,
    xlogy,
)

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "expit",
    "gammainc",
    "gammaincc",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "lgamma",
    "log_ndtr",
    "log_sigmoid",
    "logaddexp",
    "logaddexp2",
    "logit",
    "ndtr",
    "ndtri",
    "polygamma",
    "sinc",
    "softplus",
    "xlog1py",
    "xlogy",
    "zeta",
]
