"""Second names: `multiply` for `mul`, `arcsin_` for `asin_`, `special.erf` for `erf`, and so on.

This module is imported after all that it renames.
"""

from __future__ import annotations

from retrograd.ops.registry import PUBLIC, attach
from retrograd.tensor import Tensor

_TORCH = PUBLIC["torch"]

# public name -> second name, functions and methods alike
_FUNCTIONS = {"mul": "multiply", "sub": "subtract"}

# methods only; the functions' second names stand with their declarations
_METHODS = {
    "mul_": "multiply_", "sub_": "subtract_", "neg_": "negative_",
    "asin_": "arcsin_", "acos_": "arccos_", "atan_": "arctan_", "asinh_": "arcsinh_",
    "acosh_": "arccosh_", "atanh_": "arctanh_", "atan2_": "arctan2_", "trunc_": "fix_",
}  # fmt: skip

# name in `torch` -> name in `torch.special`
_SPECIAL = {
    "sigmoid": "expit", "logit": "logit", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "exp2": "exp2", "expm1": "expm1", "log1p": "log1p", "lgamma": "gammaln", "digamma": "psi",
    "polygamma": "polygamma", "mvlgamma": "multigammaln", "igamma": "gammainc",
    "igammac": "gammaincc", "i0": "i0", "sinc": "sinc", "softmax": "softmax",
    "log_softmax": "log_softmax", "logsumexp": "logsumexp", "xlogy": "xlogy",
}  # fmt: skip

# in-place methods that PyTorch also offers as functions
_IN_PLACE = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_",
    "arctanh_",
    "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "erf_", "erfc_", "exp2_", "exp_", "expm1_",
    "fix_", "floor_", "frac_", "gcd_", "i0_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_", "log_",
    "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "round_", "rsqrt_",
    "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_",
)  # fmt: skip

for _name, _second in _FUNCTIONS.items():
    attach(_TORCH[_name], methods=(_second,), public=(_second,))
for _name, _second in _METHODS.items():
    attach(getattr(Tensor, _name), methods=(_second,), namespace=None)
for _name, _second in _SPECIAL.items():
    attach(_TORCH[_name], namespace="special", public=(_second,))
attach(_TORCH["digamma"], namespace="special", public=("digamma",))
for _name in _IN_PLACE:
    attach(getattr(Tensor, _name), public=(_name,))
for _name in ("detach", "detach_", "resize_as_"):
    attach(getattr(Tensor, _name), public=(_name,))
