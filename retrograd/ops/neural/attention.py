"""Scaled dot-product attention and the multi-head form that layers use."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from retrograd import dtypes
from retrograd.backend import BACKENDS, CPU, apart, xp_of
from retrograd.backend.cpu_rows import compiled_first
from retrograd.engine.state import TRANSFORMS
from retrograd.lifecycle.site import user_level
from retrograd.notices import runtime_error
from retrograd.ops.kinds import Array, DType, Gradients, Namespace, wrap_dim
from retrograd.ops.neural.dropout import dropout_of
from retrograd.ops.neural.operand_checks import common_shape
from retrograd.ops.registry import PUBLIC, RECORDED, Table, functional, op, table_entry
from retrograd.samples import FLOATS, HALVES, Sample, T
from retrograd.tensor import Tensor, wrap

_EVERY = (*FLOATS, *HALVES)
_INF = float("inf")

# --------------------------------------------------------------------------------------- softmax


def _softmax_rows(xp: Namespace, scores: Array) -> Array:
    """The softmax along the last dimension, in place; a row of nothing but -inf becomes zeros."""
    if not scores.shape[-1]:
        return scores
    peak = xp.max(scores, axis=-1, keepdims=True)
    scores -= xp.maximum(peak, float(xp.finfo(scores.dtype).min))
    xp.exp(scores, scores)
    # the largest exponential is 1, so that only empty rows have a smaller sum
    scores /= xp.maximum(xp.sum(scores, axis=-1, keepdims=True), 1)
    return scores


@op(input=lambda m, g, out: m._softmax_gradient(g, out, -1), aten="_safe_softmax")
def _safe_softmax(xp: Namespace, input: Array) -> Array:
    """The softmax along the last dimension; a row of nothing but -inf becomes zeros."""
    return _softmax_rows(xp, input.copy())


# ----------------------------------------------------------------------------------- fused form


def _gradients(
    m: Table,
    g: Tensor,
    needs: tuple[bool, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    scale: float,
) -> Gradients:
    """The weights of attention are computed again, which costs less than to keep them."""
    scores = m.mul(m.matmul(query, m.transpose(key, -2, -1)), scale)
    weights = m._safe_softmax(scores if attn_mask is None else m.add(scores, attn_mask))
    of_query = of_key = of_value = None
    if needs[2]:
        of_value = m.matmul(m.transpose(weights, -2, -1), g)
    if needs[0] or needs[1]:
        slopes = m.matmul(g, m.transpose(value, -2, -1))
        slopes = m.mul(m._softmax_gradient(slopes, weights, -1), scale)
        if needs[0]:
            of_query = m.matmul(slopes, key)
        if needs[1]:
            of_key = m.matmul(m.transpose(slopes, -2, -1), query)
    return of_query, of_key, of_value


def _recorded_gradients(*facts: Any) -> Gradients:
    return _gradients(RECORDED, *facts)


table_entry(
    "_attention_gradients", lambda xp, *facts: _gradients(xp.raw, *facts), _recorded_gradients
)
compiled_first("_attention_gradients", "attention_gradients")


@op(
    gradients=lambda m, g, needs, query, key, value, attn_mask, scale: m._attention_gradients(
        g, needs, query, key, value, attn_mask, scale
    ),
    differentiable=("query", "key", "value"),
    node_name="ScaledDotProductFlashAttentionForCpuBackward0",
    aten="_scaled_dot_product_flash_attention_for_cpu",
    event="retrograd::attention",
)
def _attention(
    xp: Namespace, query: Array, key: Array, value: Array, attn_mask: Array | None, scale: float
) -> Array:
    """``softmax(scale * query @ key.T + mask) @ value``, of which only the inputs are kept."""
    scores = xp.matmul(xp.multiply(query, scale), xp.swapaxes(key, -2, -1))
    if attn_mask is not None:
        scores += attn_mask
    return xp.matmul(_softmax_rows(xp, scores), value)


compiled_first("_attention", "attention")


# --------------------------------------------------------------------- the form without scores


def _efficient_gradients(
    m: Table,
    g: Sequence[Tensor],
    needs: tuple[bool, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Any,
    is_causal: bool,
    scale: float,
    *_: Any,
) -> Gradients:
    """From scores that are made again; a kernel that has none needs the results too."""
    mask = _added_mask(m.xp, query, key, attn_mask, is_causal)
    return _gradients(m, g[0], needs, query, key, value, mask, scale)


def _recorded_efficient_gradients(
    g: Sequence[Tensor],
    needs: tuple[bool, ...],
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    is_causal: bool,
    scale: float,
    *_: Any,
) -> Gradients:
    mask = _float_mask(query, key, attn_mask, is_causal)
    return _gradients(RECORDED, g[0], needs, query, key, value, mask, scale)


table_entry(
    "_efficient_attention_gradients",
    lambda xp, *facts: _efficient_gradients(xp.raw, *facts),
    _recorded_efficient_gradients,
)


def _added_mask(xp: Namespace, query: Any, key: Any, mask: Any, is_causal: bool) -> Any:
    """A mask of any form as numbers that are added to scores; None where there is none."""
    if is_causal:
        return _causal_mask(xp, query.shape[-2], key.shape[-2], query.dtype)
    if mask is not None and mask.dtype.kind == "b":
        return xp.where(mask, 0.0, -_INF).astype(query.dtype)
    return mask


@op(
    gradients=lambda m, g, needs, query, key, value, attn_mask, is_causal, scale, out0, out1: (
        m._efficient_attention_gradients(
            g, needs, query, key, value, attn_mask, is_causal, scale, out0, out1
        )
    ),
    differentiable=("query", "key", "value"),
    outputs=2,
    nondifferentiable=(1,),
    node_name="ScaledDotProductEfficientAttentionBackward0",
    aten="_scaled_dot_product_efficient_attention",
    event="retrograd::attention",
)
def _efficient_attention(
    xp: Namespace,
    query: Array,
    key: Array,
    value: Array,
    attn_mask: Array | None,
    is_causal: bool,
    scale: float,
) -> tuple[Array, Array]:
    """Attention, and the logarithm of each query's sum of exponentials: inf where it sees nothing.

    For devices with a kernel that keeps no scores; a mask of truth values says where attention may
    go.
    """
    scores = xp.matmul(xp.multiply(query, scale), xp.swapaxes(key, -2, -1))
    mask = _added_mask(xp, query, key, attn_mask, is_causal)
    if mask is not None:
        scores += mask
    sums = xp.log(xp.sum(xp.exp(scores), axis=-1))
    totals = xp.where(sums == -_INF, _INF, sums)
    return xp.matmul(_softmax_rows(xp, scores), value), totals


_WIDEST = 128  # of a head, for the kernels there are


def _has_no_scores(query: Tensor, attn_mask: Tensor | None) -> bool:
    """Whether the operands' device has a kernel for them that keeps no scores."""
    array = query._array
    backend = BACKENDS.get(type(array))
    if backend is None or "_efficient_attention" not in backend.overrides:
        return False
    fits = attn_mask is None or attn_mask.dtype in (dtypes.bool_, query.dtype)
    wide = query.dtype is dtypes.float64 or array.shape[-1] > _WIDEST
    return fits and not wide and not TRANSFORMS.active


def _is_fusible(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, dropout_p: float
) -> bool:
    """Whether PyTorch would take its fused form too: four dimensions that match, no dropout."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    tracked = attn_mask is not None and (attn_mask.requires_grad or TRANSFORMS.active)
    if dropout_p or tracked:
        return False
    if attn_mask is not None and TRANSFORMS.dual_levels and TRANSFORMS.has_tangents([attn_mask]):
        return False
    if not len(q) == len(k) == len(v) == 4 or 0 in q or 0 in k or 0 in v:
        return False
    return bool(q[:2] == k[:2] == v[:2] and k[2] == v[2] and q[3] == k[3] == v[3])


# ------------------------------------------------------------------------------ public function


def _check(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool
) -> None:
    three = (query, key, value)
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if not query.dtype == key.dtype == value.dtype:
        names = [_c_name(x.dtype) for x in three]
        raise runtime_error(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead.",
            code="RG301",
        )
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
                "is_causal=True"
            )
        if attn_mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
            raise runtime_error(
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                f"attn_mask.dtype: {_c_name(attn_mask.dtype)} and  query.dtype: "
                f"{_c_name(query.dtype)} instead.",
                code="RG301",
            )
        wrap_dim(-2, attn_mask.ndim)
    if not query.dtype.is_floating_point:
        raise runtime_error(
            f"expected scalar type Float but found {query.dtype.type_name}", code="RG301"
        )


_C_NAMES = {"float32": "float", "float64": "double", "int64": "long int", "int32": "int"}
_C_NAMES |= {"float16": "c10::Half", "bfloat16": "c10::BFloat16", "bool": "bool"}


def _c_name(kind: dtypes.dtype) -> str:
    return _C_NAMES.get(kind.name, kind.name)


def _float_mask(
    query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool
) -> Tensor | None:
    """A mask to be added to the scores: zero where attention may go, -inf where it may not."""
    kind = query._array.dtype
    if is_causal:
        rows, columns = query._array.shape[-2], key._array.shape[-2]
        if type(query._array) is CPU.array and rows * columns <= _SMALL_MASK:
            return wrap(_known_causal_mask(rows, columns, kind))
        return wrap(_causal_mask(xp_of(query._array), rows, columns, kind))
    if attn_mask is not None and attn_mask.dtype is dtypes.bool_:
        return _fill_mask(RECORDED.logical_not(attn_mask), kind)
    return attn_mask


_SMALL_MASK = 1 << 14  # elements: to make one takes as long as a small attention


def _causal_mask(xp: Namespace, rows: int, columns: int, kind: DType) -> Array:
    """Zeros of a numpy type where a query comes after a key, else -inf."""
    mask: Array = xp.where(xp.tri(rows, columns, dtype=bool), 0.0, -_INF).astype(kind)
    return mask


@lru_cache(maxsize=32)
def _known_causal_mask(rows: int, columns: int, kind: DType) -> Array:
    """A causal mask that all calls share: nobody may write to it."""
    mask = _causal_mask(CPU.xp, rows, columns, kind)
    mask.flags.writeable = False
    return mask


def _fill_mask(hidden: Tensor, kind: DType) -> Tensor:
    """Zeros of a numpy type with -inf where `hidden` is true."""
    zeros = RECORDED._to_dtype(RECORDED.zeros_like(hidden), kind, None)
    return RECORDED.masked_fill(zeros, hidden, -_INF)


def _repeat_heads(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values of few heads, repeated for the many heads of the query."""
    heads = query._array.shape[-3]
    ours = (key._array.shape[-3], value._array.shape[-3])
    if any(heads % n for n in ours):
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    of_key, of_value = heads // ours[0], heads // ours[1]
    return key.repeat_interleave(of_key, -3), value.repeat_interleave(of_value, -3)


def _attention_samples() -> list[Sample]:
    q, k, v = T(2, 4, 3, 6), T(2, 4, 5, 6), T(2, 4, 5, 6)
    mask = T(values=[[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype="bool")
    return [
        # PyTorch's fused form has no second derivative
        Sample(q, k, v, dtypes=_EVERY, second=False),
        Sample(q, k, v, mask, second=False),
        Sample(q, k, v, T(3, 5, grad=False), second=False),
        Sample(q, k, v, T(2, 1, 1, 5, grad=False), second=False),
        Sample(q, k, v, is_causal=True, second=False),
        Sample(q, k, v, scale=0.3, second=False),
        Sample(q, k, v, T(3, 5)),
        Sample(q, k, T(2, 4, 5, 2)),
        Sample(T(3, 6), T(5, 6), T(5, 2)),
        Sample(T(2, 3, 6), T(2, 5, 6), T(2, 5, 6), mask),
        Sample(T(2, 3, 6), T(2, 5, 6), T(2, 5, 6), is_causal=True),
        Sample(T(2, 3, 6), T(5, 6), T(5, 6)),
        Sample(T(2, 3, 6), T(2, 5, 6), T(2, 5, 6), dtypes=HALVES),
        Sample(q, T(2, 2, 5, 6), T(2, 2, 5, 6), enable_gqa=True, second=False),
        Sample(T(2, 4, 0, 6), k, v, second=False),
        Sample(q, T(2, 4, 0, 6), T(2, 4, 0, 6), second=False),
        Sample(T(6), T(6), T(6)),
        Sample(q, k, T(2, 4, 5, 2), T(3, 5, grad=False), is_causal=True),
        Sample(q, k, v, T(3, 5, dtype="int64")),
        Sample(q, k, v, T(3, 4, grad=False)),
        Sample(q, T(2, 4, 5, 4), v),
        Sample(q, k, T(2, 4, 4, 2)),
        Sample(q, T(2, 3, 5, 6), T(2, 3, 5, 6), enable_gqa=True),
        Sample(q, k, v, dropout_p=1.5),
        Sample(T(2, 3, dtype="int64"), T(2, 3, dtype="int64"), T(2, 3, dtype="int64"), grad=False),
    ]


def _check_devices(query: Tensor, key: Tensor, value: Tensor) -> None:
    if apart(query._array, key._array) or apart(query._array, value._array):
        places = [x.device for x in (query, key, value)]
        raise runtime_error(
            "Expected query, key, and value to have the same device type, but got query.device: "
            f"{places[0]} key.device: {places[1]} and value.device: {places[2]} instead.",
            code="RG308",
        )


@functional(samples=_attention_samples, autocast="lower")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + mask) @ value``, with the scale ``1 / sqrt(width)``.

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)
    tensor([[1.0000, 0.0000],
            [0.3302, 0.6698]])
    """
    _check(query, key, value, attn_mask, is_causal)
    _check_devices(query, key, value)
    if scale is None:
        scale = 1 / math.sqrt(max(query._array.shape[-1], 1))
    if enable_gqa:
        key, value = _repeat_heads(query, key, value)
    if _has_no_scores(query, attn_mask) and _is_fusible(query, key, value, attn_mask, dropout_p):
        if attn_mask is not None:
            shape = (*query._array.shape[:3], key._array.shape[2])
            common_shape(shape, attn_mask._array.shape)
        found: tuple[Tensor, Tensor] = RECORDED._efficient_attention(
            query, key, value, attn_mask, is_causal, float(scale)
        )
        return found[0]
    mask = _float_mask(query, key, attn_mask, is_causal)
    if _is_fusible(query, key, value, mask, dropout_p):
        if mask is not None:
            shape = (*query._array.shape[:3], key._array.shape[2])
            common_shape(shape, mask._array.shape)
        return RECORDED._attention(query, key, value, mask, float(scale))
    kind = query.dtype
    if kind.itemsize == 2:  # the scores of half precision are computed in float32
        query, key, value = (x.to(dtypes.float32) for x in (query, key, value))
    root = math.sqrt(scale) if scale >= 0 else None
    if root is None:
        scores = (query * scale) @ key.transpose(-2, -1)
    else:
        scores = (query * root) @ (key.transpose(-2, -1) * root)
    if mask is not None:
        scores = scores + mask
    weights = RECORDED._safe_softmax(scores)
    if dropout_p:
        weights = dropout_of(weights, dropout_p)
    return (weights @ value).to(kind)


# -------------------------------------------------------------------------- multi-head attention


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether the inputs come in a batch; AssertionError where their ranks do not fit."""
    rank = query.ndim
    if rank not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor"
        )
    start = f"For {'batched (3-D)' if rank == 3 else 'unbatched (2-D)'} `query`, expected "
    if key.ndim != rank or value.ndim != rank:
        raise AssertionError(
            f"{start}`key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if padding_mask is not None and padding_mask.ndim != rank - 1:
        raise AssertionError(
            f"{start}`key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.ndim not in (2, 3):
            raise AssertionError(
                f"{start}`attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
                "instead"
            )
        wanted = (num_heads, query.shape[0], key.shape[0])
        if rank == 2 and attn_mask.ndim == 3 and attn_mask._array.shape != wanted:
            raise AssertionError(
                f"Expected `attn_mask` shape to be {wanted} but got {attn_mask.shape}"
            )
    return bool(rank == 3)


def _additive(
    mask: Tensor | None, name: str, kind: dtypes.dtype, other: Tensor | None = None
) -> Tensor | None:
    """A mask to add: boolean ones, where true means "not here", become -inf and zero."""
    if mask is None:
        return None
    if mask.dtype is not dtypes.bool_ and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and mask.dtype is not other.dtype:
        warnings.warn(
            f"Support for mismatched {name} and attn_mask is deprecated. Use same type for both "
            "instead.",
            UserWarning,
            stacklevel=user_level(),
        )
    if mask.dtype is not dtypes.bool_:
        return mask
    return _fill_mask(mask, kind.numpy)


def _linear(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    result: Tensor = PUBLIC["nn.functional"]["linear"](input, weight, bias)
    return result


def _project(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> list[Tensor]:
    """Queries, keys and values through the three parts of one weight; equal inputs together."""
    width = query._array.shape[-1]
    if key is value and query is key:
        return list(_linear(query, weight, bias).split(width, -1))
    weights = weight.split(width)
    biases = (None,) * 3 if bias is None else bias.split(width)
    inputs = (query, key, value)
    return [_linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _check_mask_shape(
    mask: Tensor | None, batch: int, heads: int, rows: int, columns: int
) -> Tensor | None:
    if mask is None:
        return None
    wanted = (rows, columns) if mask.ndim == 2 else (batch * heads, rows, columns)
    if mask._array.shape != wanted:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {wanted}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _one_more(mask: Tensor | None) -> Tensor | None:
    """A mask with a last column that lets attention through."""
    if mask is None:
        return None
    column = wrap(xp_of(mask._array).zeros((*mask._array.shape[:-1], 1), mask._array.dtype))
    return RECORDED.cat([mask, column], -1)


def _check_static(name: str, tensor: Tensor, batch: int, width: int) -> Tensor:
    for place, wanted in ((0, batch), (2, width)):
        found = tensor._array.shape[place]
        if found != wanted:
            raise AssertionError(f"expecting {name}.size({place}) of {wanted}, but got {found}")
    return tensor


def _check_projection(
    query: Tensor, key: Tensor, value: Tensor, expected: int, heads: int, separate: bool
) -> None:
    width = query._array.shape[-1]
    if width != expected:
        raise AssertionError(f"was expecting embedding dimension of {expected}, but got {width}")
    if width % heads:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {heads}")
    if separate:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
    elif key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _joined_mask(
    attn_mask: Tensor | None, padding_mask: Tensor | None, batch: int, heads: int, columns: int
) -> Tensor | None:
    """Both masks as one, for every head."""
    if padding_mask is None:
        return attn_mask
    for place, wanted in enumerate((batch, columns)):
        found = padding_mask._array.shape[place]
        if found != wanted:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{place}] to be {wanted}, but got {found}"
            )
    spread = padding_mask.view((batch, 1, 1, columns)).expand((batch, heads, 1, columns))
    spread = spread.reshape((batch * heads, 1, columns))
    return spread if attn_mask is None else attn_mask + spread


def _weighted_heads(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float
) -> tuple[Tensor, Tensor]:
    """Attention step by step, for callers who want to see its weights."""
    query = query * math.sqrt(1.0 / query._array.shape[-1])
    scores = query @ key.transpose(-2, -1)
    if mask is not None:
        scores = scores + mask
    weights = RECORDED.softmax(scores, -1)
    if dropout_p > 0.0:
        weights = dropout_of(weights, dropout_p)
    return weights @ value, weights


def _fused_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    leading: tuple[int, int],
) -> Tensor:
    """Attention in one step; batch and heads, the `leading` sizes, are dimensions of their own."""

    def unfold(x: Tensor) -> Tensor:
        return x.view((*leading, *x._array.shape[1:]))

    if mask is not None:
        shared = mask._array.shape[0] == 1 and mask.ndim == 3
        mask = mask.unsqueeze(0) if shared else unfold(mask)
    four = (unfold(query), unfold(key), unfold(value))
    result = scaled_dot_product_attention(*four, mask, dropout_p, is_causal)
    return result.reshape((*query._array.shape[:2], value._array.shape[-1]))


def _head_samples() -> list[Sample]:
    weights = (T(12, 4), T(12), None, None, False, 0.0, T(4, 4), T(4))
    return [
        Sample(T(3, 2, 4), T(5, 2, 4), T(5, 2, 4), 4, 2, *weights),
        Sample(T(3, 4), T(5, 4), T(5, 4), 4, 2, *weights, need_weights=False, second=False),
        Sample(T(3, 0, 4), T(5, 0, 4), T(5, 0, 4), 4, 2, *weights, need_weights=False),
    ]


@functional(samples=_head_samples)
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads: project, attend in each head, project back.

    Inputs have shape (length, batch, width), or (length, width). Returns the result and, if
    `need_weights`, the weights of attention, averaged over the heads or one matrix for each.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        alike = key is value, query is key
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        value = key if alike[0] else value
        key = query if alike[1] else key
        value = key if alike[0] else value
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    rows, batch, width = query._array.shape
    padding = _additive(key_padding_mask, "key_padding_mask", query.dtype, attn_mask)
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and padding is None and not need_weights:
        mask = None  # the fused form makes its own
    else:
        mask = _additive(attn_mask, "attn_mask", query.dtype)
        is_causal = is_causal and padding is None
    _check_projection(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    if use_separate_proj_weight:
        weights = (q_proj_weight, k_proj_weight, v_proj_weight)
        for letter, weight in zip("qkv", weights, strict=True):
            if weight is None:
                raise AssertionError(
                    f"use_separate_proj_weight is True but {letter}_proj_weight is None"
                )
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        three = zip((query, key, value), weights, biases, strict=True)
        q, k, v = (_linear(x, w, b) for x, w, b in three)
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias)
    mask = _check_mask_shape(mask, batch, num_heads, rows, key._array.shape[0])
    if (bias_k is None) is not (bias_v is None):
        given, other = ("k", "v") if bias_v is None else ("v", "k")
        raise AssertionError(f"bias_{given} is set but bias_{other} is None")
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            what = "key" if static_k is not None else "value"
            raise AssertionError(f"bias cannot be added to static {what}.")
        k = RECORDED.cat([k, bias_k.repeat(1, batch, 1)], 0)
        v = RECORDED.cat([v, bias_v.repeat(1, batch, 1)], 0)
        mask, padding = _one_more(mask), _one_more(padding)

    head = width // num_heads

    def by_head(x: Tensor) -> Tensor:
        folded = x.contiguous().view((x._array.shape[0], batch * num_heads, head))
        return folded.transpose(0, 1)

    q = by_head(q)
    k = by_head(k) if static_k is None else _check_static("static_k", static_k, len(q), head)
    v = by_head(v) if static_v is None else _check_static("static_v", static_v, len(q), head)
    if add_zero_attn:
        zeros = wrap(xp_of(k._array).zeros((batch * num_heads, 1, head), k._array.dtype))
        k, v = (RECORDED.cat([x, zeros], 1) for x in (k, v))
        mask, padding = _one_more(mask), _one_more(padding)
    columns = k._array.shape[1]
    mask = _joined_mask(mask, padding, batch, num_heads, columns)
    dropout_p = dropout_p if training else 0.0

    seen: Any = None
    if need_weights:
        attended, seen = _weighted_heads(q, k, v, mask, dropout_p)
    else:
        attended = _fused_heads(q, k, v, mask, dropout_p, is_causal, (batch, num_heads))
    attended = attended.transpose(0, 1).reshape((rows * batch, width))
    result = _linear(attended, out_proj_weight, out_proj_bias)
    result = result.view((rows, batch, result._array.shape[1]))
    if seen is not None:
        seen = seen.view((batch, num_heads, rows, columns))
        if average_attn_weights:
            seen = seen.mean(1)
    if batched:
        return result, seen
    return result.squeeze(1), None if seen is None else seen.squeeze(0)
