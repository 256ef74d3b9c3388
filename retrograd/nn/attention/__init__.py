"""Multi-head attention."""

from __future__ import annotations

import warnings
from typing import Any

from retrograd import dtypes
from retrograd.lifecycle.site import user_level
from retrograd.namespaces import from_table
from retrograd.nn import functional, init
from retrograd.nn.attention_backends import SDPBackend as SDPBackend
from retrograd.nn.attention_backends import sdpa_kernel as sdpa_kernel
from retrograd.nn.linear import Linear
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.ops.making.creation import empty
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` with another name, by which PyTorch keeps attention out of quantization."""


def additive_mask(
    mask: Tensor | None,
    name: str,
    kind: dtypes.dtype,
    other: Tensor | None = None,
    other_name: str = "",
) -> Tensor | None:
    """A mask to add to scores: booleans, where true means "not here", become -inf and zero.

    >>> additive_mask(torch.tensor([False, True]), "mask", torch.float32)
    tensor([0., -inf])
    """
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype is not other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for "
            "both instead.",
            UserWarning,
            stacklevel=user_level(),
        )
    if mask.dtype is not dtypes.bool_:
        return mask
    zeros = RECORDED._to_dtype(RECORDED.zeros_like(mask), kind.numpy, None)
    return RECORDED.masked_fill(zeros, mask, float("-inf"))


class MultiheadAttention(Module):
    """Attention in several heads: project, attend in each head, project back.

    The result is a pair: the new values, and the weights of attention if `need_weights`.

    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.zeros(3, 5, 8)
    >>> values, weights = attention(x, x, x)
    >>> values.shape, weights.shape
    (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device = None,
        dtype: dtypes.dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(name: str, *shape: int, wanted: bool = True) -> None:
            made = Parameter(empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)

        joint = self._qkv_same_embed_dim
        # PyTorch's order, which is that of the state's keys
        parameter("in_proj_weight", 3 * embed_dim, embed_dim, wanted=joint)
        parameter("q_proj_weight", embed_dim, embed_dim, wanted=not joint)
        parameter("k_proj_weight", embed_dim, self.kdim, wanted=not joint)
        parameter("v_proj_weight", embed_dim, self.vdim, wanted=not joint)
        parameter("in_proj_bias", 3 * embed_dim, wanted=bias)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        parameter("bias_k", 1, 1, embed_dim, wanted=add_bias_kv)
        parameter("bias_v", 1, 1, embed_dim, wanted=add_bias_kv)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        """Draw new values; `out_proj.weight` keeps those that `Linear` has drawn."""
        four = (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        for weight in four:
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        kind = query.dtype
        padding = additive_mask(key_padding_mask, "key_padding_mask", kind, attn_mask, "attn_mask")
        mask = additive_mask(attn_mask, "attn_mask", kind)
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = _turned(query, key, value)
        values, weights = functional.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=padding,
            need_weights=need_weights,
            attn_mask=mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (values.transpose(1, 0) if turned else values), weights


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Any, Any, Any]:
    """Inputs with their first two dimensions exchanged; one object stays one object.

    Equal inputs are projected together, and that is seen from their being one object.
    """
    turned: dict[int, object] = {}
    for tensor in (query, key, value):
        if id(tensor) not in turned:
            turned[id(tensor)] = tensor.transpose(1, 0)
    return turned[id(query)], turned[id(key)], turned[id(value)]


from_table(__name__)
