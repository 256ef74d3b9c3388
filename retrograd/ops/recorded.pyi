"""The ops as rules see them, on tensors; `ops.registry.RECORDED` is this table.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

import numpy as numpy
from collections.abc import Sequence
from retrograd import return_types
from retrograd.backend.device import Backend
from retrograd.dtypes import dtype
from retrograd.engine.views import ViewStep
from retrograd.ops.neural.normalization import Layout
from retrograd.random.state import Generator
from retrograd.tensor import Tensor
from retrograd.tensor.size import memory_format
from retrograd.types import Number
from typing import Any
from typing import overload

class Table:
    xp: Any  # the functions of the arrays, of a table on arrays
    @staticmethod
    def _adaptive_avg_pool2d_gradient(gradient: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _adaptive_avg_pool3d_gradient(gradient: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _adaptive_max_pool2d_gradient(
        gradient: Tensor,
        input: Tensor,
        indices: Tensor,
    ) -> Tensor: ...
    @staticmethod
    def _adaptive_max_pool3d_gradient(
        gradient: Tensor,
        input: Tensor,
        indices: Tensor,
    ) -> Tensor: ...
    @staticmethod
    def _affine_grid_gradient(
        gradient: Tensor,
        size: tuple[int, ...],
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _alias(input: Tensor) -> Tensor: ...
    @staticmethod
    def _as_strided_gradient(
        gradient: Tensor,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        size: tuple[int, ...],
        stride: tuple[int, ...],
        shift: int,
    ) -> Tensor: ...
    @staticmethod
    def _as_strided_here(
        input: Tensor,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        shift: int,
    ) -> Tensor: ...
    @staticmethod
    def _as_strided_read(
        input: Tensor,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        size: tuple[int, ...],
        stride: tuple[int, ...],
        shift: int,
    ) -> Tensor: ...
    @staticmethod
    def _as_strided_write(
        input: Tensor,
        src: Tensor,
        strides: tuple[int, ...],
        size: tuple[int, ...],
        stride: tuple[int, ...],
        shift: int,
    ) -> Tensor: ...
    @staticmethod
    def _attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None,
        scale: float,
    ) -> Tensor: ...
    @staticmethod
    def _attention_gradients(*facts: Any) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _avg_pool2d_gradient(
        gradient: Tensor,
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor: ...
    @staticmethod
    def _avg_pool3d_gradient(
        gradient: Tensor,
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor: ...
    @staticmethod
    def _batch_norm(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        running_mean: Tensor | None,
        running_var: Tensor | None,
        training: bool,
        layout: Layout,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _batch_norm_gradient(
        grad: Tensor,
        input: Tensor,
        mean: Tensor,
        inverse: Tensor,
        layout: Layout,
    ) -> Tensor: ...
    @staticmethod
    def _bernoulli(input: Tensor, generator: Generator, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _binary_cross_entropy_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
    ) -> Tensor: ...
    @staticmethod
    def _block_diag(tensors: Sequence[Tensor]) -> Tensor: ...
    @staticmethod
    def _cdist(x1: Tensor, x2: Tensor, p: float) -> Tensor: ...
    @staticmethod
    def _celu_in_place(input: Tensor, alpha: float = 1.0) -> Tensor: ...
    @staticmethod
    def _cholesky_factor(input: Tensor, upper: bool) -> Tensor: ...
    @staticmethod
    def _choose(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        condition: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _circular_pad(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _circular_pad_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _clamp_max_number(
        input: Tensor,
        max: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _clamp_max_tensor(input: Tensor, max: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _clamp_min_number(
        input: Tensor,
        min: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _clamp_min_tensor(input: Tensor, min: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _clamp_tensors(
        input: Tensor,
        min: Tensor | None = None,
        max: Tensor | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _clone_as(input: Tensor, order: memory_format) -> Tensor: ...
    @staticmethod
    def _clone_with_strides(input: Tensor, strides: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _cofactors(input: Tensor) -> Tensor: ...
    @staticmethod
    def _collect(input: Tensor, index: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _conj(input: Tensor) -> Tensor: ...
    @staticmethod
    def _conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _contiguous_copy(input: Tensor) -> Tensor: ...
    @staticmethod
    def _convolution_at(
        input: Tensor,
        weight: Tensor,
        windows: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
    ) -> Tensor: ...
    @staticmethod
    def _convolution_input_gradient(
        gradient: Tensor,
        weight: Tensor,
        input_shape: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
    ) -> Tensor: ...
    @staticmethod
    def _convolution_weight_gradient(
        gradient: Tensor,
        input: Tensor,
        weight_shape: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
    ) -> Tensor: ...
    @staticmethod
    def _copy(input: Tensor, src: Tensor) -> Tensor: ...
    @staticmethod
    def _copysign_number(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _copysign_tensor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _count_true(mask: Tensor, like: Tensor, dim: int | Sequence[int] | None) -> Tensor: ...
    @staticmethod
    def _ctc_loss(
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
        blank: int,
        zero_infinity: bool,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def _ctc_loss_gradient(
        grad: Tensor,
        log_probs: Tensor,
        targets: Tensor,
        losses: Tensor,
        alpha: Tensor,
        input_lengths: Tensor,
        target_lengths: Tensor,
        blank: int,
        zero_infinity: bool,
    ) -> Tensor: ...
    @staticmethod
    def _diagonal_copy(input: Tensor, offset: int) -> Tensor: ...
    @staticmethod
    def _diagonal_gradient(
        gradient: Tensor,
        shape: tuple[int, ...],
        offset: int,
        dim1: int,
        dim2: int,
    ) -> Tensor: ...
    @staticmethod
    def _dirichlet_grad(x: Tensor, alpha: Tensor, total: Tensor) -> Tensor: ...
    @staticmethod
    def _distinct(index: Tensor, size: int) -> Tensor: ...
    @staticmethod
    def _div_rounded(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        rounding_mode: str,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _draw_dirichlet(input: Tensor, generator: Generator) -> Tensor: ...
    @staticmethod
    def _draw_gamma(input: Tensor, generator: Generator) -> Tensor: ...
    @staticmethod
    def _efficient_attention(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None,
        is_causal: bool,
        scale: float,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def _efficient_attention_gradients(
        g: Sequence[Tensor],
        needs: tuple[bool, ...],
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None,
        is_causal: bool,
        scale: float,
        *_: Any,
    ) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _elu_gradient(
        grad: Tensor,
        value: Tensor,
        alpha: float,
        scale: float,
        input_scale: float,
        is_result: bool,
    ) -> Tensor: ...
    @staticmethod
    def _elu_in_place(
        input: Tensor,
        alpha: float = 1.0,
        scale: float = 1.0,
        input_scale: float = 1.0,
    ) -> Tensor: ...
    @staticmethod
    def _embedding_bag(
        weight: Tensor,
        indices: Tensor,
        per_sample_weights: Tensor | None,
        bags: Any,
        count: int,
        mode: str,
        scale_grad_by_freq: bool,
        kept: list[Tensor],
    ) -> Tensor: ...
    @staticmethod
    def _embedding_gradient(
        grad: Tensor,
        indices: Tensor,
        num_weights: int,
        padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> Tensor: ...
    @staticmethod
    def _embedding_rows(weight: Tensor, indices: Tensor, padding_idx: int) -> Tensor: ...
    @staticmethod
    def _euclidean_dist(x1: Tensor, x2: Tensor) -> Tensor: ...
    @staticmethod
    def _fft_c2c(input: Tensor, dim: tuple[int, ...], scale: int, forward: bool) -> Tensor: ...
    @staticmethod
    def _fft_c2r(input: Tensor, dim: tuple[int, ...], scale: int, last_size: int) -> Tensor: ...
    @staticmethod
    def _fft_r2c(input: Tensor, dim: tuple[int, ...], scale: int, onesided: bool) -> Tensor: ...
    @staticmethod
    def _fill_number(input: Tensor, value: complex) -> Tensor: ...
    @staticmethod
    def _fill_number_in_place(input: Tensor, value: complex) -> Tensor: ...
    @staticmethod
    def _fill_tensor(input: Tensor, value: Tensor) -> Tensor: ...
    @staticmethod
    def _fill_tensor_in_place(input: Tensor, value: Tensor) -> Tensor: ...
    @staticmethod
    def _fill_where(input: Tensor | None, mask: Tensor, value: Tensor) -> Tensor: ...
    @staticmethod
    def _fixed_gradients(*arguments: Any) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _fmod_number(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _fractional_max_pool2d_gradient(
        gradient: Tensor,
        input: Tensor,
        indices: Tensor,
    ) -> Tensor: ...
    @staticmethod
    def _fractional_max_pool3d_gradient(
        gradient: Tensor,
        input: Tensor,
        indices: Tensor,
    ) -> Tensor: ...
    @staticmethod
    def _fw_primal(input: Tensor, origin: object) -> Tensor: ...
    @staticmethod
    def _gather_gradient(g: Tensor, shape: tuple[int, ...], dim: int, index: Tensor) -> Tensor: ...
    @staticmethod
    def _gather_spatial(input: Tensor, indices: Tensor, dimensions: int) -> Tensor: ...
    @staticmethod
    def _gelu_gradient(grad: Tensor, input: Tensor, approximate: str) -> Tensor: ...
    @staticmethod
    def _grid_derivative(
        input: Tensor,
        grid: Tensor,
        orders: tuple[int, ...],
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _grid_derivative_adjoint(
        gradient: Tensor,
        grid: Tensor,
        input_shape: tuple[int, ...],
        orders: tuple[int, ...],
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _grid_sampler_2d_grid_gradient(
        gradient: Tensor,
        input: Tensor,
        grid: Tensor,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _grid_sampler_2d_input_gradient(
        gradient: Tensor,
        grid: Tensor,
        input_shape: tuple[int, ...],
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _grid_sampler_3d_grid_gradient(
        gradient: Tensor,
        input: Tensor,
        grid: Tensor,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _grid_sampler_3d_input_gradient(
        gradient: Tensor,
        grid: Tensor,
        input_shape: tuple[int, ...],
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def _group_norm(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        layout: Layout,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _group_norm_gradient(
        grad: Tensor,
        input: Tensor,
        mean: Tensor,
        inverse: Tensor,
        layout: Layout,
    ) -> Tensor: ...
    @staticmethod
    def _gru_step(
        input: Tensor,
        hidden: Tensor,
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor | None,
        bias_hh: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _gru_step_gradients(*facts: Any) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _hardsigmoid_gradient(grad: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _hardswish_gradient(grad: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _hardtanh_gradient(
        grad: Tensor,
        input: Tensor,
        min_val: float,
        max_val: float,
    ) -> Tensor: ...
    @staticmethod
    def _histogram(
        input: Tensor,
        edges: Tensor,
        weight: Tensor | None,
        density: bool,
    ) -> return_types.histogram: ...
    @staticmethod
    def _huber_loss_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        reduction: int,
        delta: float,
    ) -> Tensor: ...
    @staticmethod
    def _index_fill_tensor(input: Tensor, dim: int, index: Tensor, value: Tensor) -> Tensor: ...
    @staticmethod
    def _index_gradient(
        g: Tensor,
        shape: tuple[int, ...],
        dims: tuple[int, ...],
        first: Tensor,
        second: Tensor | None,
        third: Tensor | None,
        fourth: Tensor | None,
    ) -> Tensor: ...
    @staticmethod
    def _index_select_gradient(
        g: Tensor,
        shape: tuple[int, ...],
        dim: int,
        index: Tensor,
    ) -> Tensor: ...
    @staticmethod
    def _index_zero(
        input: Tensor,
        dims: tuple[int, ...],
        first: Tensor,
        second: Tensor | None,
        third: Tensor | None,
        fourth: Tensor | None,
    ) -> Tensor: ...
    @staticmethod
    def _inverse_deviation(
        input: Tensor,
        mean: Tensor,
        inverse: Tensor,
        layout: Layout,
    ) -> Tensor: ...
    @staticmethod
    def _isin(
        elements: Tensor | Number | complex,
        test_elements: Tensor | Number | complex,
        assume_unique: bool,
        invert: bool,
    ) -> Tensor: ...
    @staticmethod
    def _keep_not_positive(grad: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _layer_norm(
        input: Tensor,
        weight: Tensor | None,
        bias: Tensor | None,
        layout: Layout,
        eps: float,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _layer_norm_gradient(
        grad: Tensor,
        input: Tensor,
        mean: Tensor,
        inverse: Tensor,
        layout: Layout,
    ) -> Tensor: ...
    @staticmethod
    def _leaky_relu_gradient(grad: Tensor, input: Tensor, negative_slope: float) -> Tensor: ...
    @staticmethod
    def _leaky_relu_in_place(input: Tensor, negative_slope: float = 0.01) -> Tensor: ...
    @staticmethod
    def _lerp_number(
        input: Tensor,
        end: Tensor,
        weight: complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _log_softmax_gradient(grad: Tensor, output: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _logsigmoid_gradient(grad: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _logsumexp_gradient(
        g: Tensor,
        input: Tensor,
        out: Tensor,
        dim: int | Sequence[int] | None,
        keepdim: bool,
    ) -> Tensor: ...
    @staticmethod
    def _lstm_step(
        input: Tensor,
        hidden: Tensor,
        cell: Tensor,
        weight_ih: Tensor,
        weight_hh: Tensor,
        bias_ih: Tensor | None,
        bias_hh: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _lstm_step_gradients(*facts: Any) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _make_complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _make_dual(input: Tensor, origin: object) -> Tensor: ...
    @staticmethod
    def _masked_fill_tensor(input: Tensor, mask: Tensor, value: Tensor) -> Tensor: ...
    @staticmethod
    def _masked_put(values: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _masked_take(input: Tensor, mask: Tensor, shape: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _max_all(input: Tensor) -> Tensor: ...
    @staticmethod
    def _max_pool2d_gradient(gradient: Tensor, input: Tensor, indices: Tensor) -> Tensor: ...
    @staticmethod
    def _max_pool3d_gradient(gradient: Tensor, input: Tensor, indices: Tensor) -> Tensor: ...
    @staticmethod
    def _mean_all(input: Tensor, dtype: dtype | None = None) -> Tensor: ...
    @staticmethod
    def _median_all(input: Tensor) -> Tensor: ...
    @staticmethod
    def _min_all(input: Tensor) -> Tensor: ...
    @staticmethod
    def _mse_loss_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        reduction: int,
    ) -> Tensor: ...
    @staticmethod
    def _multilabel_margin_slopes(input: Tensor, target: Tensor) -> Tensor: ...
    @staticmethod
    def _nanmedian_all(input: Tensor) -> Tensor: ...
    @staticmethod
    def _nll_loss(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
    ) -> Tensor: ...
    @staticmethod
    def _nll_loss2d(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
    ) -> Tensor: ...
    @staticmethod
    def _nll_loss2d_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
    ) -> Tensor: ...
    @staticmethod
    def _nll_loss_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        ignore_index: int,
    ) -> Tensor: ...
    @staticmethod
    def _norm_gradients(
        g: Tensor,
        needs: tuple[bool, ...],
        input: Tensor,
        weight: Tensor,
        bias_shape: tuple[int, ...],
        mean: Tensor,
        inverse: Tensor,
        layout: Layout,
        name: str,
    ) -> Sequence[Tensor | None]: ...
    @staticmethod
    def _norm_of_last(input: Tensor, p: float, keepdim: bool) -> Tensor: ...
    @staticmethod
    def _normal_around(
        mean: Tensor,
        std: float,
        generator: Generator,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _normal_both(
        mean: Tensor,
        std: Tensor,
        generator: Generator,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _normal_of_width(
        std: Tensor,
        mean: float,
        generator: Generator,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _only_row(input: Tensor) -> Tensor: ...
    @staticmethod
    def _overwrite_bernoulli_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_bernoulli_array(input: Tensor, p: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_cauchy_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_exponential_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_geometric_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_log_normal_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_normal_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_random_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_random_full(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_random_to(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _overwrite_uniform_(input: Tensor, values: Any) -> Tensor: ...
    @staticmethod
    def _pdist(input: Tensor, p: float) -> Tensor: ...
    @staticmethod
    def _poisson(input: Tensor, generator: Generator) -> Tensor: ...
    @staticmethod
    def _polygamma(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _pow_base(
        input: Tensor | Number | complex,
        exponent: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _pow_number(
        input: Tensor,
        exponent: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _pow_tensor(input: Tensor, exponent: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _prelu_gradient(grad: Tensor, input: Tensor, weight: Tensor) -> Tensor: ...
    @staticmethod
    def _prelu_kernel(input: Tensor, weight: Tensor) -> Tensor: ...
    @staticmethod
    def _prod_all(input: Tensor, dtype: dtype | None = None) -> Tensor: ...
    @staticmethod
    def _reflection_pad1d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _reflection_pad2d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _reflection_pad3d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _refuse_second_order(input: Tensor, names: tuple[str, str]) -> Tensor: ...
    @staticmethod
    def _relu_gradient(grad: Tensor, output: Tensor) -> Tensor: ...
    @staticmethod
    def _remainder_number(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _remainder_of_number(input: Tensor | Number | complex, other: Tensor) -> Tensor: ...
    @staticmethod
    def _replay(input: Tensor, chain: tuple[ViewStep, ...], strides: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _replay_gradient(
        input: Tensor,
        chain: tuple[ViewStep, ...],
        shape: tuple[int, ...],
        strides: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _replication_pad1d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _replication_pad2d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _replication_pad3d_gradient(
        gradient: Tensor,
        input: Tensor,
        padding: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _reshape_alias(input: Tensor, size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _reversed_cumsum(g: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _round_decimals(input: Tensor, decimals: int, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def _rrelu_with_noise(
        input: Tensor,
        noise: Tensor | None,
        lower: float,
        upper: float,
    ) -> Tensor: ...
    @staticmethod
    def _rrelu_with_noise_in_place(
        input: Tensor,
        noise: Tensor | None,
        lower: float,
        upper: float,
    ) -> Tensor: ...
    @staticmethod
    def _rsub_number(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        alpha: complex = 1,
    ) -> Tensor: ...
    @staticmethod
    def _safe_softmax(input: Tensor) -> Tensor: ...
    @staticmethod
    def _scatter_spatial(gradient: Tensor, indices: Tensor, spatial: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _scatter_value(
        input: Tensor,
        dim: int,
        index: Tensor,
        value: complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _scatter_values(
        input: Tensor | None,
        src: Tensor,
        index: Tensor,
        dim: int,
        shape: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def _searchsorted(
        boundaries: Tensor,
        values: Tensor,
        right: bool,
        integer: numpy.dtype[numpy.generic],
    ) -> Tensor: ...
    @staticmethod
    def _select_gradient(
        gradient: Tensor,
        shape: tuple[int, ...],
        dim: int,
        index: int,
    ) -> Tensor: ...
    @staticmethod
    def _shrink_gradient(grad: Tensor, input: Tensor, lambd: float) -> Tensor: ...
    @staticmethod
    def _sigmoid_gradient(grad: Tensor, output: Tensor) -> Tensor: ...
    @staticmethod
    def _silu_gradient(grad: Tensor, input: Tensor) -> Tensor: ...
    @staticmethod
    def _singular_values(input: Tensor) -> Tensor: ...
    @staticmethod
    def _slice_gradient(
        gradient: Tensor,
        shape: tuple[int, ...],
        dim: int,
        start: int | None,
        stop: int | None,
        step: int,
    ) -> Tensor: ...
    @staticmethod
    def _smooth_l1_loss_gradient(
        grad: Tensor,
        input: Tensor,
        target: Tensor,
        reduction: int,
        beta: float,
    ) -> Tensor: ...
    @staticmethod
    def _soft_margin_loss_slope(input: Tensor, target: Tensor) -> Tensor: ...
    @staticmethod
    def _softmax_gradient(grad: Tensor, output: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _softplus_gradient(
        grad: Tensor,
        input: Tensor,
        beta: float,
        threshold: float,
    ) -> Tensor: ...
    @staticmethod
    def _split(input: Tensor, split_size: int, dim: int) -> tuple[Tensor, ...]: ...
    @staticmethod
    def _split_with_sizes(
        input: Tensor,
        split_sizes: tuple[int, ...],
        dim: int,
    ) -> tuple[Tensor, ...]: ...
    @staticmethod
    def _squeeze_all(input: Tensor) -> Tensor: ...
    @staticmethod
    def _squeeze_all_here(input: Tensor) -> Tensor: ...
    @staticmethod
    def _squeeze_dim(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _squeeze_dim_here(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _squeeze_dims(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _squeeze_dims_here(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _stable_sort(
        input: Tensor,
        dim: int = -1,
        descending: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.sort: ...
    @staticmethod
    def _standard_gamma_grad(input: Tensor, output: Tensor) -> Tensor: ...
    @staticmethod
    def _standardize(input: Tensor, mean: Tensor, inverse: Tensor, layout: Layout) -> Tensor: ...
    @staticmethod
    def _sum_all(input: Tensor, dtype: dtype | None = None) -> Tensor: ...
    @staticmethod
    def _symmetric_eigenvalues(input: Tensor, UPLO: str) -> Tensor: ...
    @staticmethod
    def _t_here(input: Tensor) -> Tensor: ...
    @staticmethod
    def _take_gradient(g: Tensor, shape: tuple[int, ...], index: Tensor) -> Tensor: ...
    @staticmethod
    def _tanh_gradient(grad: Tensor, output: Tensor) -> Tensor: ...
    @staticmethod
    def _threshold_gradient(grad: Tensor, input: Tensor, threshold: float) -> Tensor: ...
    @staticmethod
    def _threshold_in_place(input: Tensor, threshold: float, value: float) -> Tensor: ...
    @staticmethod
    def _to_device(
        input: Tensor,
        source: Backend,
        target: Backend,
        non_blocking: bool,
    ) -> Tensor: ...
    @staticmethod
    def _to_dtype(
        input: Tensor,
        dtype: numpy.dtype[numpy.generic],
        order: memory_format | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _transpose_here(input: Tensor, dim0: int, dim1: int) -> Tensor: ...
    @staticmethod
    def _unfold_gradient(
        gradient: Tensor,
        shape: tuple[int, ...],
        dimension: int,
        size: int,
        step: int,
    ) -> Tensor: ...
    @staticmethod
    def _unique2(input: Tensor) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _unique_consecutive(input: Tensor, dim: int | None) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _unique_dim(input: Tensor, dim: int) -> tuple[Tensor, Tensor, Tensor]: ...
    @staticmethod
    def _unsafe_split(input: Tensor, split_size: int, dim: int) -> tuple[Tensor, ...]: ...
    @staticmethod
    def _unsafe_split_with_sizes(
        input: Tensor,
        split_sizes: tuple[int, ...],
        dim: int,
    ) -> tuple[Tensor, ...]: ...
    @staticmethod
    def _unsafe_view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _unsqueeze_here(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _upsample_bicubic2d_aa_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_bicubic2d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_bilinear2d_aa_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_bilinear2d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_lanczos2d_aa_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_linear1d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest1d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest2d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest3d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest_exact1d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest_exact2d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_nearest_exact3d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _upsample_trilinear3d_gradient(
        gradient: Tensor,
        spatial: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def _weight_norm_interface(v: Tensor, g: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def _xlog1py_number_input(
        input: Tensor | Number | complex,
        other: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _xlog1py_number_other(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _xlogy_number_input(
        input: Tensor | Number | complex,
        other: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _xlogy_number_other(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _zero(input: Tensor) -> Tensor: ...
    @staticmethod
    def _zeros(input: Tensor, shape: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _zeros_of(input: Tensor, shape: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def _zeta_number_input(
        input: Tensor | Number | complex,
        other: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def _zeta_number_other(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def abs(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def acos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def acosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def adaptive_avg_pool2d(input: Tensor, output_size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def adaptive_avg_pool3d(input: Tensor, output_size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def adaptive_max_pool2d(
        input: Tensor,
        output_size: tuple[int, ...],
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def adaptive_max_pool3d(
        input: Tensor,
        output_size: tuple[int, ...],
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def add(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addbmm(
        input: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addcdiv(
        input: Tensor,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addcmul(
        input: Tensor,
        tensor1: Tensor,
        tensor2: Tensor,
        *,
        value: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addmm(
        input: Tensor,
        mat1: Tensor,
        mat2: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addmv(
        input: Tensor,
        mat: Tensor,
        vec: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def addr(
        input: Tensor,
        vec1: Tensor,
        vec2: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def affine_grid_generator(
        theta: Tensor,
        size: tuple[int, ...],
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def alias(input: Tensor) -> Tensor: ...
    @staticmethod
    def all(
        input: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def amax(
        input: Tensor,
        dim: int | Sequence[int] | None = (),
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def amin(
        input: Tensor,
        dim: int | Sequence[int] | None = (),
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def aminmax(
        input: Tensor,
        *,
        dim: int | None = None,
        keepdim: bool = False,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.aminmax: ...
    @staticmethod
    def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def any(
        input: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def argmax(
        input: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def argmin(
        input: Tensor,
        dim: int | None = None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def argsort(
        input: Tensor,
        dim: int = -1,
        descending: bool = False,
        *,
        stable: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def as_strided(
        input: Tensor,
        size: tuple[int, ...],
        stride: tuple[int, ...],
        shift: int,
    ) -> Tensor: ...
    @staticmethod
    def asin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def asinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def atan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def atan2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def atanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def avg_pool2d(
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor: ...
    @staticmethod
    def avg_pool3d(
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        ceil_mode: bool,
        count_include_pad: bool,
        divisor_override: int | None,
    ) -> Tensor: ...
    @staticmethod
    def baddbmm(
        input: Tensor,
        batch1: Tensor,
        batch2: Tensor,
        *,
        beta: complex = 1,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def binary_cross_entropy(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
    ) -> Tensor: ...
    @staticmethod
    def binary_cross_entropy_with_logits(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        pos_weight: Tensor | None,
        reduction: int,
    ) -> Tensor: ...
    @staticmethod
    def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor: ...
    @staticmethod
    def bitwise_and(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bitwise_left_shift(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bitwise_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def bitwise_or(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bitwise_right_shift(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bitwise_xor(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def ceil(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def celu(input: Tensor, alpha: float = 1.0) -> Tensor: ...
    @staticmethod
    def channel_shuffle(input: Tensor, groups: int) -> Tensor: ...
    @staticmethod
    def chebyshev_polynomial_t(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def chebyshev_polynomial_u(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def chebyshev_polynomial_v(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def chebyshev_polynomial_w(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def cholesky_inverse(L: Tensor, upper: bool = False) -> Tensor: ...
    @staticmethod
    def cholesky_solve(input: Tensor, L: Tensor, upper: bool = False) -> Tensor: ...
    @staticmethod
    def clamp(
        input: Tensor,
        min: Tensor | Number | complex | None = None,
        max: Tensor | Number | complex | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def clone(input: Tensor) -> Tensor: ...
    @staticmethod
    def col2im(
        input: Tensor,
        output_size: tuple[int, ...],
        kernel_size: tuple[int, ...],
        dilation: tuple[int, ...],
        padding: tuple[int, ...],
        stride: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def conj(input: Tensor) -> Tensor: ...
    @staticmethod
    def constant_pad_nd(input: Tensor, pad: tuple[int, ...], value: complex = 0) -> Tensor: ...
    @staticmethod
    def convolution(
        input: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
    ) -> Tensor: ...
    @staticmethod
    def cos(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def cosh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def count_nonzero(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor: ...
    @staticmethod
    def cummax(
        input: Tensor,
        dim: int,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.cummax: ...
    @staticmethod
    def cummin(
        input: Tensor,
        dim: int,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.cummin: ...
    @staticmethod
    def cumprod(
        input: Tensor,
        dim: int,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def cumsum(
        input: Tensor,
        dim: int,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def deg2rad(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor: ...
    @staticmethod
    def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor: ...
    @staticmethod
    def diagonal_scatter(
        input: Tensor,
        src: Tensor,
        offset: int = 0,
        dim1: int = 0,
        dim2: int = 1,
    ) -> Tensor: ...
    @staticmethod
    def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor: ...
    @staticmethod
    def div(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @overload
    @staticmethod
    def einsum(equation: str, *operands: Tensor) -> Tensor: ...
    @overload
    @staticmethod
    def einsum(equation: str, operands: Sequence[Tensor], /) -> Tensor: ...
    @overload
    @staticmethod
    def einsum(operand: Tensor, sublist: Sequence[Any], /, *rest: Any) -> Tensor: ...
    @staticmethod
    def elu(
        input: Tensor,
        alpha: float = 1.0,
        scale: float = 1.0,
        input_scale: float = 1.0,
    ) -> Tensor: ...
    @staticmethod
    def embedding(
        weight: Tensor,
        indices: Tensor,
        padding_idx: int,
        scale_grad_by_freq: bool,
    ) -> Tensor: ...
    @staticmethod
    def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def eq(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def expand(input: Tensor, size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def flip(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def floor(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def floor_divide(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def fmax(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def fmin(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def fmod(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def frac(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def fractional_max_pool2d(
        input: Tensor,
        random_samples: Tensor,
        kernel_size: tuple[int, ...],
        output_size: tuple[int, ...],
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def fractional_max_pool3d(
        input: Tensor,
        random_samples: Tensor,
        kernel_size: tuple[int, ...],
        output_size: tuple[int, ...],
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def frexp(input: Tensor, *, out: Sequence[Tensor] | None = None) -> return_types.frexp: ...
    @staticmethod
    def gather(
        input: Tensor,
        dim: int,
        index: Tensor,
        *,
        sparse_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def gcd(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def ge(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def gelu(input: Tensor, *, approximate: str = 'none') -> Tensor: ...
    @staticmethod
    def geqrf(input: Tensor) -> return_types.geqrf: ...
    @staticmethod
    def glu(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def grid_sampler_2d(
        input: Tensor,
        grid: Tensor,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def grid_sampler_3d(
        input: Tensor,
        grid: Tensor,
        mode: str,
        padding_mode: str,
        align_corners: bool,
    ) -> Tensor: ...
    @staticmethod
    def gt(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor: ...
    @staticmethod
    def hardsigmoid(input: Tensor) -> Tensor: ...
    @staticmethod
    def hardswish(input: Tensor) -> Tensor: ...
    @staticmethod
    def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor: ...
    @staticmethod
    def heaviside(input: Tensor, values: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def hermite_polynomial_h(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def hermite_polynomial_he(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def histc(
        input: Tensor,
        bins: int = 100,
        min: float = 0,
        max: float = 0,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def huber_loss(input: Tensor, target: Tensor, reduction: int, delta: float) -> Tensor: ...
    @staticmethod
    def hypot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def igamma(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def igammac(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def im2col(
        input: Tensor,
        kernel_size: tuple[int, ...],
        dilation: tuple[int, ...],
        padding: tuple[int, ...],
        stride: tuple[int, ...],
    ) -> Tensor: ...
    @staticmethod
    def imag(input: Tensor) -> Tensor: ...
    @staticmethod
    def index(
        input: Tensor,
        dims: tuple[int, ...],
        first: Tensor,
        second: Tensor | None = None,
        third: Tensor | None = None,
        fourth: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def index_add(
        input: Tensor,
        dim: int,
        index: Tensor,
        source: Tensor,
        *,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def index_copy(
        input: Tensor,
        dim: int,
        index: Tensor,
        source: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def index_fill(input: Tensor, dim: int, index: Tensor, value: complex) -> Tensor: ...
    @staticmethod
    def index_put(
        input: Tensor,
        values: Tensor,
        dims: tuple[int, ...],
        accumulate: bool,
        first: Tensor,
        second: Tensor | None = None,
        third: Tensor | None = None,
        fourth: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def index_reduce(
        input: Tensor,
        dim: int,
        index: Tensor,
        source: Tensor,
        reduce: str,
        *,
        include_self: bool = True,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def index_select(
        input: Tensor,
        dim: int,
        index: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def isclose(
        input: Tensor,
        other: Tensor,
        *,
        rtol: float = 1e-05,
        atol: float = 1e-08,
        equal_nan: bool = False,
    ) -> Tensor: ...
    @staticmethod
    def isfinite(input: Tensor) -> Tensor: ...
    @staticmethod
    def isinf(input: Tensor) -> Tensor: ...
    @staticmethod
    def isnan(input: Tensor) -> Tensor: ...
    @staticmethod
    def isneginf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def isposinf(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def isreal(input: Tensor) -> Tensor: ...
    @staticmethod
    def kthvalue(
        input: Tensor,
        k: int,
        dim: int = -1,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.kthvalue: ...
    @staticmethod
    def laguerre_polynomial_l(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def lcm(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def ldexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def le(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor: ...
    @staticmethod
    def legendre_polynomial_p(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def lerp(
        input: Tensor,
        end: Tensor,
        weight: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def lgamma(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def linalg_cholesky_ex(
        input: Tensor,
        upper: bool = False,
    ) -> return_types.linalg_cholesky_ex: ...
    @staticmethod
    def linalg_cross(
        input: Tensor,
        other: Tensor,
        *,
        dim: int = -1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def linalg_det(input: Tensor) -> Tensor: ...
    @staticmethod
    def linalg_eig(input: Tensor) -> return_types.linalg_eig: ...
    @staticmethod
    def linalg_eigh(input: Tensor, UPLO: str = 'L') -> return_types.linalg_eigh: ...
    @staticmethod
    def linalg_inv_ex(input: Tensor) -> return_types.linalg_inv_ex: ...
    @staticmethod
    def linalg_ldl_factor_ex(
        input: Tensor,
        hermitian: bool,
    ) -> return_types.linalg_ldl_factor_ex: ...
    @staticmethod
    def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor: ...
    @staticmethod
    def linalg_lstsq(
        input: Tensor,
        other: Tensor,
        rcond: float,
        driver: str,
    ) -> return_types.linalg_lstsq: ...
    @staticmethod
    def linalg_lu(input: Tensor) -> return_types.linalg_lu: ...
    @staticmethod
    def linalg_lu_factor_ex(input: Tensor) -> return_types.linalg_lu_factor_ex: ...
    @staticmethod
    def linalg_matrix_exp(input: Tensor) -> Tensor: ...
    @staticmethod
    def linalg_pinv(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor: ...
    @staticmethod
    def linalg_qr(input: Tensor, mode: str = 'reduced') -> return_types.linalg_qr: ...
    @staticmethod
    def linalg_slogdet(input: Tensor) -> return_types.linalg_slogdet: ...
    @staticmethod
    def linalg_solve_ex(
        A: Tensor,
        B: Tensor,
        left: bool = True,
    ) -> return_types.linalg_solve_ex: ...
    @staticmethod
    def linalg_solve_triangular(
        A: Tensor,
        B: Tensor,
        upper: bool,
        left: bool = True,
        unitriangular: bool = False,
    ) -> Tensor: ...
    @staticmethod
    def linalg_svd(input: Tensor, full_matrices: bool = True) -> return_types.linalg_svd: ...
    @staticmethod
    def linalg_vector_norm(
        input: Tensor,
        ord: float = 2,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def log(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def log_softmax(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logcumsumexp(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logical_and(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logical_not(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logical_or(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logical_xor(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def logsigmoid(input: Tensor) -> Tensor: ...
    @staticmethod
    def logsumexp(
        input: Tensor,
        dim: int | Sequence[int] | None,
        keepdim: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def lt(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def lu_unpack(
        LU_data: Tensor,
        LU_pivots: Tensor,
        unpack_data: bool = True,
        unpack_pivots: bool = True,
    ) -> return_types.lu_unpack: ...
    @staticmethod
    def masked_fill(input: Tensor, mask: Tensor, value: complex) -> Tensor: ...
    @staticmethod
    def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: ...
    @staticmethod
    def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def max(
        input: Tensor,
        dim: int,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.max: ...
    @staticmethod
    def max_pool2d_with_indices(
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        ceil_mode: bool,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def max_pool3d_with_indices(
        input: Tensor,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        ceil_mode: bool,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def max_unpool2d(input: Tensor, indices: Tensor, output_size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def max_unpool3d(input: Tensor, indices: Tensor, output_size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def mean(
        input: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def median(
        input: Tensor,
        dim: int,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.median: ...
    @staticmethod
    def min(
        input: Tensor,
        dim: int,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.min: ...
    @staticmethod
    def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def mish(input: Tensor) -> Tensor: ...
    @staticmethod
    def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def mode(
        input: Tensor,
        dim: int = -1,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.mode: ...
    @staticmethod
    def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def mse_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...
    @staticmethod
    def mul(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def multi_margin_loss(
        input: Tensor,
        target: Tensor,
        weight: Tensor | None,
        reduction: int,
        p: int,
        margin: float,
    ) -> Tensor: ...
    @staticmethod
    def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...
    @staticmethod
    def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def mvlgamma(input: Tensor, p: int, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def nan_to_num(
        input: Tensor,
        nan: float | None = 0.0,
        posinf: float | None = None,
        neginf: float | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def nanmedian(
        input: Tensor,
        dim: int,
        keepdim: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.nanmedian: ...
    @staticmethod
    def nansum(
        input: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def narrow(input: Tensor, dim: int, start: Tensor | float, length: int) -> Tensor: ...
    @staticmethod
    def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def ne(
        input: Tensor,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def neg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def nextafter(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def nonzero(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def ones_like(input: Tensor) -> Tensor: ...
    @staticmethod
    def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def permute(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor: ...
    @staticmethod
    def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor: ...
    @staticmethod
    def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def pow(
        input: Tensor | complex,
        exponent: Tensor | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def prod(
        input: Tensor,
        dim: int = 0,
        keepdim: bool = False,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor: ...
    @staticmethod
    def rad2deg(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def real(input: Tensor) -> Tensor: ...
    @staticmethod
    def reciprocal(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def reflection_pad1d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def reflection_pad2d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def reflection_pad3d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def relu(input: Tensor) -> Tensor: ...
    @staticmethod
    def remainder(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def renorm(
        input: Tensor,
        p: float,
        dim: int,
        maxnorm: float,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def repeat(input: Tensor, repeats: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def replication_pad1d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def replication_pad2d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def replication_pad3d(input: Tensor, padding: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def reshape(input: Tensor, shape: Sequence[int]) -> Tensor: ...
    @staticmethod
    def roll(input: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor: ...
    @staticmethod
    def round(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def rsqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def rsub(input: Tensor, other: Tensor | Number | complex, *, alpha: complex = 1) -> Tensor: ...
    @staticmethod
    def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def scatter(
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def scatter_add(
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Tensor,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def scatter_reduce(
        input: Tensor,
        dim: int,
        index: Tensor,
        src: Tensor,
        reduce: str,
        *,
        include_self: bool = True,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def select(input: Tensor, dim: int, index: int) -> Tensor: ...
    @staticmethod
    def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor: ...
    @staticmethod
    def sgn(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def shifted_chebyshev_polynomial_t(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def shifted_chebyshev_polynomial_u(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def shifted_chebyshev_polynomial_v(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def shifted_chebyshev_polynomial_w(
        input: Tensor | Number | complex,
        n: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def sign(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def signbit(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def silu(input: Tensor) -> Tensor: ...
    @staticmethod
    def sin(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def sinh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def slice(
        input: Tensor,
        dim: int,
        start: int | None,
        stop: int | None,
        step: int,
    ) -> Tensor: ...
    @staticmethod
    def slice_scatter(
        input: Tensor,
        src: Tensor,
        dim: int = 0,
        start: int | None = None,
        end: int | None = None,
        step: int = 1,
    ) -> Tensor: ...
    @staticmethod
    def smooth_l1_loss(input: Tensor, target: Tensor, reduction: int, beta: float) -> Tensor: ...
    @staticmethod
    def soft_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...
    @staticmethod
    def softmax(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def softplus(
        input: Tensor,
        beta: float = 1.0,
        threshold: float = 20.0,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor: ...
    @staticmethod
    def sort(
        input: Tensor,
        dim: int = -1,
        descending: bool = False,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.sort: ...
    @staticmethod
    def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def sqrt(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def square(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor: ...
    @staticmethod
    def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def std(
        input: Tensor,
        dim: int | Sequence[int] | None,
        correction: float,
        keepdim: bool,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def std_mean(
        input: Tensor,
        dim: int | Sequence[int] | None,
        correction: float,
        keepdim: bool,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def sub(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        alpha: complex = 1,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def sum(
        input: Tensor,
        dim: int | Sequence[int] | None = None,
        keepdim: bool = False,
        *,
        dtype: dtype | None = None,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def sum_to_size(input: Tensor, size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def t(input: Tensor) -> Tensor: ...
    @staticmethod
    def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def tan(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def tanh(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def threshold(input: Tensor, threshold: float, value: float) -> Tensor: ...
    @staticmethod
    def topk(
        input: Tensor,
        k: int,
        dim: int = -1,
        largest: bool = True,
        sorted: bool = True,
        *,
        out: Sequence[Tensor] | None = None,
    ) -> return_types.topk: ...
    @staticmethod
    def trace(input: Tensor) -> Tensor: ...
    @staticmethod
    def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor: ...
    @staticmethod
    def tril(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def triu(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def trunc(input: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]: ...
    @staticmethod
    def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor: ...
    @staticmethod
    def unsqueeze(input: Tensor, dim: int) -> Tensor: ...
    @staticmethod
    def upsample_bicubic2d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_bicubic2d_aa(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_bilinear2d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_bilinear2d_aa(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_lanczos2d_aa(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_linear1d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest1d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest2d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest3d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest_exact1d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest_exact2d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_nearest_exact3d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def upsample_trilinear3d(
        input: Tensor,
        output_size: tuple[int, ...],
        align_corners: bool,
        scales: tuple[float | None, ...] | None,
    ) -> Tensor: ...
    @staticmethod
    def var(
        input: Tensor,
        dim: int | Sequence[int] | None,
        correction: float,
        keepdim: bool,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def var_mean(
        input: Tensor,
        dim: int | Sequence[int] | None,
        correction: float,
        keepdim: bool,
    ) -> tuple[Tensor, Tensor]: ...
    @staticmethod
    def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
    @staticmethod
    def view(input: Tensor, size: tuple[int, ...]) -> Tensor: ...
    @staticmethod
    def view_as_complex(input: Tensor) -> Tensor: ...
    @staticmethod
    def view_as_real(input: Tensor) -> Tensor: ...
    @overload
    @staticmethod
    def where(condition: Tensor) -> tuple[Tensor, ...]: ...
    @overload
    @staticmethod
    def where(
        condition: Tensor,
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def xlog1py(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def xlogy(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...
    @staticmethod
    def zeros_like(input: Tensor) -> Tensor: ...
    @staticmethod
    def zeta(
        input: Tensor | Number | complex,
        other: Tensor | Number | complex,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...

RECORDED: Table
