"""What PyTorch calls our ops: events of the profiler, and overloads such as ``aten.add.Tensor``.

A profiler of PyTorch shows an op under the name that was called (``aten::softmax``); what chooses
among ops below autograd, as selective checkpointing does, sees the one that computes
(``aten._softmax.default``). So there are two functions, and one set of names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

# private ops, by what PyTorch calls them
_ALIASES = {
    "_adaptive_avg_pool2d_gradient": "_adaptive_avg_pool2d_backward",
    "_clone_as": "clone",
    "_clone_with_strides": "clone",
    "_contiguous_copy": "clone",
    "_ctc_loss": "_ctc_loss",
    "_ctc_loss_gradient": "_ctc_loss_backward",
    "_fft_c2c": "_fft_c2c",
    "_fft_c2r": "_fft_c2r",
    "_fft_r2c": "_fft_r2c",
    "_fill_number": "fill",
    "_fill_tensor": "fill",
    "_fractional_max_pool2d_gradient": "fractional_max_pool2d_backward",
    "_fractional_max_pool3d_gradient": "fractional_max_pool3d_backward",
    "_index_fill_tensor": "index_fill",
    "_log_softmax_gradient": "_log_softmax_backward_data",
    "_logsigmoid_gradient": "log_sigmoid_backward",
    "_masked_fill_tensor": "masked_fill",
    "_max_pool3d_gradient": "max_pool3d_with_indices_backward",
    "_prelu_gradient": "_prelu_kernel_backward",
    "_prelu_kernel": "_prelu_kernel",
    "_relu_gradient": "threshold_backward",
    "_reshape_alias": "_reshape_alias",
    "_safe_softmax": "_safe_softmax",
    "_scatter_value": "scatter",
    "_softmax_gradient": "_softmax_backward_data",
    "_squeeze_all": "squeeze",
    "_squeeze_dim": "squeeze",
    "_squeeze_dims": "squeeze",
    "_to_dtype": "_to_copy",
    "_unique2": "_unique2",
    "_unique_dim": "unique_dim",
    "_unsafe_view": "_unsafe_view",
    "_weight_norm_interface": "_weight_norm_interface",
    "logsigmoid": "log_sigmoid",
    "xlog1py": "special_xlog1py",
    "zeta": "special_zeta",
}

# private ops whose name without the underscore is PyTorch's
_SAME = frozenset(
    """
    alias batch_norm bernoulli block_diag cdist conj conj_physical copy diagonal_copy
    embedding_bag group_norm histogram isin layer_norm nll_loss nll_loss2d pdist poisson
    polygamma rrelu_with_noise searchsorted split split_with_sizes unique_consecutive unsafe_split
    unsafe_split_with_sizes zero zeros
    """.split()
)

# derivatives that PyTorch computes with other ops
_OWN_GRADIENTS = frozenset(
    """
    affine_grid as_strided circular_pad convolution_input convolution_weight grid_sampler_2d_grid
    grid_sampler_2d_input grid_sampler_3d_grid grid_sampler_3d_input group_norm index layer_norm
    replay shrink take
    """.split()
)


@cache
def event_name(op: Any) -> str:
    """The name of an op's events: ``aten::mul``, or ``retrograd::...`` for one of our own."""
    name: str = op.name
    label: str = op.label
    if name in _ALIASES:
        return f"aten::{_ALIASES[name]}"
    if label.endswith("_gradient"):
        stem = label.removesuffix("_gradient")
        if stem in _OWN_GRADIENTS:
            return f"retrograd::{label}"
        label = f"{stem}_backward"
    elif name.startswith("_") and label == name.strip("_") and label not in _SAME:
        return f"retrograd::{label}"
    if op.namespace == "special":
        label = f"special_{label}"
    elif label.startswith("upsample_") and ("_aa" in label or "_exact" in label):
        label = f"_{label}"
    return f"aten::{label}"


# ----------------------------------------------------------------------------------- overloads

_LIST = Path(__file__).parents[2] / "compat" / "aten_overloads.txt"


@cache
def overload_table() -> dict[str, tuple[str, ...]]:
    """PyTorch's ops by name, with the names of their overloads.

    >>> overload_table()["relu"]
    ('default', 'out')
    """
    found = {}
    for line in _LIST.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, *overloads = line.split()
            found[name] = tuple(overloads) or ("default",)
    return found


def _named(pairs: str) -> dict[str, str]:
    """``ours: theirs`` on each line."""
    lines = (line.split(": ") for line in pairs.strip().splitlines())
    return {ours.strip(): theirs for ours, theirs in lines}


# Ops that are always the same overload, where it is no `default` or the name is not the event's.
_OVERLOADS = _named(
    """
    _adaptive_avg_pool3d_gradient: _adaptive_avg_pool3d_backward.default
    _attention: _scaled_dot_product_flash_attention_for_cpu.default
    _batch_norm: native_batch_norm.default
    _cdist: _cdist_forward.default
    _cholesky_factor: cholesky.default
    _choose: where.self
    _clamp_max_tensor: clamp_max.Tensor
    _clamp_min_tensor: clamp_min.Tensor
    _clamp_tensors: clamp.Tensor
    _conj: _conj.default
    _conj_physical: _conj_physical.default
    _copysign_number: copysign.Scalar
    _copysign_tensor: copysign.Tensor
    _div_rounded: div.Tensor_mode
    _embedding_bag: _embedding_bag.default
    _euclidean_dist: _euclidean_dist.default
    _fill_number: fill.Scalar
    _fill_tensor: fill.Tensor
    _fmod_number: fmod.Scalar
    _group_norm: native_group_norm.default
    _histogram: histogram.bins_tensor
    _index_fill_tensor: index_fill.int_Tensor
    _layer_norm: native_layer_norm.default
    _lerp_number: lerp.Scalar
    _make_complex: complex.default
    _masked_fill_tensor: masked_fill.Tensor
    _nll_loss: nll_loss_forward.default
    _nll_loss2d: nll_loss2d_forward.default
    _norm_of_last: norm.ScalarOpt_dim
    _normal_around: normal.Tensor_float
    _normal_both: normal.Tensor_Tensor
    _normal_of_width: normal.float_Tensor
    _only_row: squeeze.dim
    _pdist: _pdist_forward.default
    _pow_base: pow.Scalar
    _pow_number: pow.Tensor_Scalar
    _pow_tensor: pow.Tensor_Tensor
    _remainder_number: remainder.Scalar
    _remainder_of_number: remainder.Scalar_Tensor
    _reshape_alias: view.default
    _round_decimals: round.decimals
    _rsub_number: rsub.Scalar
    _scatter_value: scatter.value
    _searchsorted: searchsorted.Tensor
    _singular_values: _linalg_svd.default
    _split: split.Tensor
    _squeeze_dim: squeeze.dim
    _squeeze_dims: squeeze.dims
    _stable_sort: sort.stable
    _unsafe_split: unsafe_split.Tensor
    _xlog1py_number_input: special_xlog1py.self_scalar
    _xlog1py_number_other: special_xlog1py.other_scalar
    _xlogy_number_input: xlogy.Scalar_Self
    _xlogy_number_other: xlogy.Scalar_Other
    _zeta_number_input: special_zeta.self_scalar
    _zeta_number_other: special_zeta.other_scalar
    adaptive_avg_pool2d: _adaptive_avg_pool2d.default
    adaptive_avg_pool3d: _adaptive_avg_pool3d.default
    add: add.Tensor
    argsort: sort.default
    div: div.Tensor
    fmod: fmod.Tensor
    frexp: frexp.Tensor
    index: index.Tensor
    index_fill: index_fill.int_Scalar
    ldexp: ldexp.Tensor
    lerp: lerp.Tensor
    linalg_det: _linalg_det.default
    linalg_eigh: _linalg_eigh.default
    linalg_pinv: linalg_pinv.atol_rtol_tensor
    linalg_slogdet: _linalg_slogdet.default
    linalg_solve_ex: _linalg_solve_ex.default
    linalg_svd: _linalg_svd.default
    log_softmax: _log_softmax.default
    logsigmoid: log_sigmoid_forward.default
    masked_fill: masked_fill.Scalar
    max: max.dim
    mean: mean.dim
    median: median.dim
    min: min.dim
    mul: mul.Tensor
    multilabel_margin_loss: multilabel_margin_loss_forward.default
    nanmedian: nanmedian.dim
    prod: prod.dim_int
    remainder: remainder.Tensor
    rsub: rsub.Tensor
    scatter: scatter.src
    scatter_reduce: scatter_reduce.two
    select: select.int
    slice: slice.Tensor
    softmax: _softmax.default
    std: std.correction
    std_mean: std_mean.correction
    sub: sub.Tensor
    sum: sum.dim_IntList
    transpose: transpose.int
    unbind: unbind.int
    var: var.correction
    var_mean: var_mean.correction
    xlogy: xlogy.Tensor
    """
)

# In-place ops whose name or overload does not follow from the out-of-place one's.
_WRITES = _named(
    """
    _celu_in_place: celu_.default
    _elu_in_place: elu_.default
    _fill_number_in_place: fill_.Scalar
    _fill_tensor_in_place: fill_.Tensor
    _index_fill_tensor: index_fill_.int_Tensor
    _leaky_relu_in_place: leaky_relu_.default
    _masked_fill_tensor: masked_fill_.Tensor
    _overwrite_bernoulli_: bernoulli_.float
    _overwrite_bernoulli_array: bernoulli_.Tensor
    _overwrite_random_full: random_.from
    _overwrite_random_to: random_.to
    _pow_number: pow_.Scalar
    _pow_tensor: pow_.Tensor
    _rrelu_with_noise_in_place: rrelu_with_noise_.default
    _threshold_in_place: threshold_.default
    """
)

_OPERAND_RULES: dict[str, tuple[str, str, str]] = {}  # both tensors; a number second; first
for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _OPERAND_RULES[_name] = ("Tensor", "Scalar", "Tensor")
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    _OPERAND_RULES[_name] = ("Tensor", "Scalar", "Scalar_Tensor")
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    _OPERAND_RULES[_name] = ("Tensor", "Tensor_Scalar", "Scalar_Tensor")
_OPERAND_RULES["_isin"] = ("Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor")
_POLYNOMIALS = ("default", "n_scalar", "x_scalar")


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def _by_operands(forms: tuple[str, str, str], args: tuple[Any, ...]) -> str:
    if _is_number(args[0]):
        return forms[2]
    return forms[1] if _is_number(args[1]) else forms[0]


def _by_dim(one: str, several: str) -> Callable[[tuple[Any, ...]], str]:
    def choose(args: tuple[Any, ...]) -> str:
        if args[1] is None:
            return "default"
        return several if isinstance(args[1], Iterable) else one

    return choose


_CHOICES: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "all": _by_dim("dim", "dims"),
    "any": _by_dim("dim", "dims"),
    "count_nonzero": _by_dim("default", "dim_IntList"),
}


def overload_name(op: Any, args: tuple[Any, ...], form: str = "") -> str:
    """The overload that a call of an op is in PyTorch: ``aten.add.Tensor``.

    `form` is "_" for a call in place and "out" for one with ``out=``. Ops that PyTorch does not
    have are in a namespace of our own.
    """
    space, _, name = event_name(op).partition("::")
    if form == "_" and op.name in _WRITES:
        return f"aten.{_WRITES[op.name]}"
    if op.name in _OVERLOADS:
        space, (name, _, overload) = "aten", _OVERLOADS[op.name].partition(".")
    elif op.name in _CHOICES:
        overload = _CHOICES[op.name](args)
    elif op.name in _OPERAND_RULES:
        overload = _by_operands(_OPERAND_RULES[op.name], args)
    elif "_polynomial_" in name:
        overload = _by_operands(_POLYNOMIALS, args)
    else:
        overload = "default"
    if form == "_":
        name = (op.inplace_name or op.name + "_").removeprefix("_")
        if name not in overload_table():
            return f"retrograd.{name}.default"
        known, space = overload_table()[name], "aten"
        overload = overload if overload in known else known[0]
    elif form == "out" and space == "aten":
        known = overload_table()[name]
        wanted = ("out" if overload == "default" else f"{overload}_out", "out")
        overload = next((way for way in wanted if way in known), overload)
    return f"{space}.{name}.{overload}"
