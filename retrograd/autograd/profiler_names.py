"""The names of ops in the profiler's events: PyTorch's where it has the op, our own elsewhere."""

from __future__ import annotations

from functools import cache
from typing import Any

# private ops, by what PyTorch calls them
_ALIASES = {
    "_adaptive_avg_pool2d_gradient": "_adaptive_avg_pool2d_backward",
    "_clone_as": "clone",
    "_clone_with_strides": "clone",
    "_contiguous_copy": "clone",
    "_fft_c2c": "_fft_c2c",
    "_fft_c2r": "_fft_c2r",
    "_fft_r2c": "_fft_r2c",
    "_fill_number": "fill",
    "_fill_tensor": "fill",
    "_index_fill_tensor": "index_fill",
    "_log_softmax_gradient": "_log_softmax_backward_data",
    "_logsigmoid_gradient": "log_sigmoid_backward",
    "_masked_fill_tensor": "masked_fill",
    "_max_pool3d_gradient": "max_pool3d_with_indices_backward",
    "_prelu_gradient": "_prelu_kernel_backward",
    "_prelu_kernel": "_prelu_kernel",
    "_relu_gradient": "threshold_backward",
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
    "logsigmoid": "log_sigmoid",
    "xlog1py": "special_xlog1py",
    "zeta": "special_zeta",
}

# private ops whose name without the underscore is PyTorch's
_SAME = frozenset(
    """
    alias batch_norm bernoulli block_diag cdist conj conj_physical copy diagonal_copy
    embedding_bag group_norm histogram isin layer_norm nll_loss nll_loss2d pdist poisson
    polygamma rrelu_with_noise searchsorted split split_with_sizes unique_consecutive zero zeros
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
