"""multi_head_attention_forward against PyTorch: results, weights, gradients, errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import retrograd
import retrograd.nn.functional as ours

torch = pytest.importorskip("torch")
theirs = torch.nn.functional
pytestmark = pytest.mark.torch

ROWS, COLUMNS, BATCH, WIDTH, HEADS = 3, 5, 2, 8, 4


def arrays(batched=True, own=False, separate=False, bias=True):
    generator = np.random.default_rng(0)

    def make(*shape):
        return generator.normal(size=shape)

    batch = (BATCH,) if batched else ()
    query = make(ROWS, *batch, WIDTH)
    made = {"query": query}
    if not own:
        made["key"] = make(COLUMNS, *batch, WIDTH)
        made["value"] = make(COLUMNS, *batch, WIDTH)
    if separate:
        made |= {f"{name}_proj_weight": make(WIDTH, WIDTH) for name in "qkv"}
    else:
        made["in_proj_weight"] = make(3 * WIDTH, WIDTH)
    if bias:
        made |= {"in_proj_bias": make(3 * WIDTH), "out_proj_bias": make(WIDTH)}
    made["out_proj_weight"] = make(WIDTH, WIDTH)
    return made


def run(library, module, given, *, seed=None, masks=(), **options):
    tensors = {k: library.from_numpy(v.copy()).requires_grad_() for k, v in given.items()}
    constants = {k: library.from_numpy(v.copy()) for k, v in masks}
    query = tensors["query"]
    key, value = tensors.get("key", query), tensors.get("value", query)
    if seed is not None:
        library.manual_seed(seed)
    names = ("in_proj_weight", "in_proj_bias", "bias_k", "bias_v")
    fixed = [tensors.get(name) for name in names]
    add_zero = options.pop("add_zero_attn", False)
    dropout_p = options.pop("dropout_p", 0.0)
    more = {k: v for k, v in tensors.items() if k.endswith("proj_weight") and k[1] == "_"}
    more |= {k: v for k, v in tensors.items() if k.startswith("static")}
    result, weights = module.multi_head_attention_forward(
        query, key, value, WIDTH, HEADS, *fixed, add_zero, dropout_p,
        tensors["out_proj_weight"], tensors.get("out_proj_bias"), **constants, **more, **options,
    )  # fmt: skip
    total = (result * result).sum()
    if weights is not None:
        total = total + (weights**3).sum()
    leaves = list(tensors.values())
    gradients = library.autograd.grad(total, leaves, allow_unused=True)
    found = [result, weights, *gradients]
    return [None if x is None else x.detach().numpy() for x in found]


def compare(given, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = run(torch, theirs, given, **dict(options))
        b = run(retrograd, ours, given, **dict(options))
    for x, y in zip(a, b, strict=True):
        assert (x is None) == (y is None)
        if x is not None:
            np.testing.assert_allclose(y, x, rtol=1e-9, atol=1e-10)


CAUSAL = np.triu(np.full((ROWS, COLUMNS), -np.inf), 1)
SQUARE = np.triu(np.full((ROWS, ROWS), -np.inf), 1)
PADDING = np.array([[False, False, True, False, True], [False] * 5])


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("separate", [True, False])
def test_projections(need_weights, batched, own, separate):
    compare(
        arrays(batched, own, separate),
        need_weights=need_weights,
        use_separate_proj_weight=separate,
    )


def test_without_bias():
    compare(arrays(bias=False))


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("average", [True, False])
def test_masks(need_weights, average):
    options = {"need_weights": need_weights, "average_attn_weights": average}
    compare(arrays(), masks=[("attn_mask", CAUSAL)], **options)
    compare(arrays(), masks=[("attn_mask", CAUSAL != 0)], **options)
    compare(arrays(), masks=[("key_padding_mask", PADDING)], **options)
    compare(arrays(), masks=[("key_padding_mask", PADDING), ("attn_mask", CAUSAL)], **options)
    each = np.random.default_rng(1).normal(size=(BATCH * HEADS, ROWS, COLUMNS))
    compare(arrays(), masks=[("attn_mask", each)], **options)


@pytest.mark.parametrize("need_weights", [True, False])
def test_causal_hint(need_weights):
    options = {"need_weights": need_weights, "is_causal": True}
    compare(arrays(own=True), masks=[("attn_mask", SQUARE)], **options)


@pytest.mark.parametrize("need_weights", [True, False])
def test_extra_keys(need_weights):
    given = arrays()
    given["bias_k"] = np.random.default_rng(2).normal(size=(1, 1, WIDTH))
    given["bias_v"] = np.random.default_rng(3).normal(size=(1, 1, WIDTH))
    options = {"need_weights": need_weights, "add_zero_attn": True}
    compare(given, masks=[("attn_mask", CAUSAL), ("key_padding_mask", PADDING)], **options)
    compare(given, **options)


def test_static_keys():
    given = arrays()
    for name in ("static_k", "static_v"):
        given[name] = np.random.default_rng(4).normal(size=(BATCH * HEADS, COLUMNS, WIDTH // HEADS))
    compare(given)


@pytest.mark.parametrize("need_weights", [True, False])
def test_dropout(need_weights):
    compare(arrays(), seed=5, dropout_p=0.4, need_weights=need_weights)


def test_second_order_of_the_fused_form():
    """PyTorch has none; compare with the same formula written out."""
    q = retrograd.randn(1, 2, 3, 4, dtype=retrograd.float64, requires_grad=True)
    mask = retrograd.randn(3, 3, dtype=retrograd.float64)

    def plain(x):
        return ((x @ x.transpose(-2, -1)) * 0.5 + mask).softmax(-1) @ x

    def fused(x):
        return ours.scaled_dot_product_attention(x, x, x, mask)

    found = []
    for function in (plain, fused):
        result = function(q)
        (first,) = retrograd.autograd.grad((result**3).sum(), q, create_graph=True)
        (second,) = retrograd.autograd.grad((first**2).sum(), q)
        found.append((result.detach().numpy(), first.detach().numpy(), second.numpy()))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def errors(library, module):
    x = library.ones(ROWS, BATCH, WIDTH)
    weight, out = library.ones(3 * WIDTH, WIDTH), library.ones(WIDTH, WIDTH)
    fixed = (weight, None, None, None, False, 0.0, out, None)

    def call(*args, **options):
        try:
            module.multi_head_attention_forward(*args, **options)
        except Exception as error:
            return type(error).__name__, str(error).splitlines()[0]
        return None

    bad = library.ones(2, 2)
    return [
        call(x, x, x, WIDTH + 1, HEADS, *fixed),
        call(x, x, x, WIDTH, 3, *fixed),
        call(x[0, 0], x, x, WIDTH, HEADS, *fixed),
        call(x, x[0], x, WIDTH, HEADS, *fixed),
        call(x, x, x[:2], WIDTH, HEADS, *fixed),
        call(x, x, x, WIDTH, HEADS, *fixed, attn_mask=bad),
        call(x, x, x, WIDTH, HEADS, *fixed, attn_mask=bad[0]),
        call(x, x, x, WIDTH, HEADS, *fixed, key_padding_mask=bad[0]),
        call(x, x, x, WIDTH, HEADS, *fixed, is_causal=True),
        call(x, x, x, WIDTH, HEADS, None, *fixed[1:]),
        call(x, x, x, WIDTH, HEADS, *fixed, use_separate_proj_weight=True),
        call(x, x, x, WIDTH, HEADS, *fixed, attn_mask=bad.long()),
    ]


def test_errors():
    assert errors(retrograd, ours) == errors(torch, theirs)
