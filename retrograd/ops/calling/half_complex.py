"""complex32: numbers that are kept in half the room, and what is computed with them.

PyTorch's kernels for the CPU move them, and know little arithmetic in them: what is named here.
It runs in complex64, and the result is rounded. Any other operation is refused in PyTorch's words,
by the name of the kernel that PyTorch would have called. (Moving elements is allowed to every
operation that only moves, also to the few that PyTorch has no kernel for.)
"""

from __future__ import annotations

import re

from retrograd import dtypes
from retrograd.ops import errors

_COMPUTED = frozenset(
    """
    _rsub_number abs add addcmul all any count_nonzero dist eq index_add index_put isclose isfinite
    isinf isnan isreal linalg_vector_norm mul ne neg sgn std std_mean sub var var_mean
    """.split()
)

# they are declared as moving elements, and choose or draw them too
_CHOOSE = frozenset(
    """
    _bernoulli _draw_dirichlet _draw_gamma _poisson fractional_max_pool2d fractional_max_pool3d
    im2col max_unpool2d max_unpool3d nan_to_num nextafter reflection_pad1d reflection_pad2d
    reflection_pad3d replication_pad1d replication_pad2d replication_pad3d scatter
    """.split()
)

# where the kernel is not called as the operation with "_cpu" behind it
_PATTERNS = {
    "{}": """
        bmm baddbmm digamma dot exp2 max_unpool2d max_unpool3d nan_to_num pow reflection_pad1d
        reflection_pad2d reflection_pad3d replication_pad1d replication_pad2d replication_pad3d
        trace unique vdot
    """,
    "{}_out_frame": "fractional_max_pool2d fractional_max_pool3d",
    "{}_all": "max min",
    "{}_out_cpu": "cumprod cumsum logcumsumexp prod",
    "{}_vml_cpu": """
        acos asin atan cos erf erfc erfinv exp expm1 i0 lgamma log log10 log1p log2 round sin sqrt
        tan tanh
    """,
}
_KERNELS = {
    name: pattern.format(name) for pattern, names in _PATTERNS.items() for name in names.split()
} | {
    "addcdiv": "addcdiv_cpu_out",
    "addmm": "addmm_impl_cpu_",
    "amax": "max_values_cpu",
    "amin": "min_values_cpu",
    "floor_divide": "div_floor_cpu",
    "histc": "aminmax_cpu",
    "ldexp": "pow",
    "lerp": "lerp_kernel_scalar",
    "linalg_cross": "cross",
    "linalg_det": "lu_cpu",
    "logsumexp": "exp_vml_cpu",
    "mean": "sum_cpu",
    "mm": "addmm_impl_cpu_",
    "mv": "addmv_impl_cpu",
    "im2col": "im2col_out_cpu",
    "scatter": "scatter_gather_tensor_cpu",
    "scatter_add": "scatter_gather_tensor_cpu",
}
_FORM = re.compile("_(number|tensor|all|base|of_number|gradient)$|2$")  # of several of one name


def check(name: str, error: Exception | None = None) -> None:
    """Refuse an operation that PyTorch has no kernel for; `name` is the op's.

    `error` is what it said of the same numbers in complex64: operations that take no complex
    numbers at all say so in words of their own.
    """
    if name in _COMPUTED or (isinstance(error, RuntimeError) and "ComplexFloat" not in str(error)):
        return
    raise _refusal(name)


def check_moves(name: str) -> None:
    """The same for an operation that is declared as moving elements."""
    if name in _CHOOSE:
        raise _refusal(name)


def _refusal(name: str) -> Exception:
    public = name
    if name.startswith("_"):
        public = _FORM.sub("", name[1:])
    return errors.not_implemented_for(_KERNELS.get(public, f"{public}_cpu"), dtypes.C32)
