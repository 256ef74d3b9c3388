"""Multi-head attention and the Transformer beside real PyTorch."""

from __future__ import annotations

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def pair(build):
    """The same module of both libraries, from the same seed; its text and state must be equal."""
    made = []
    for t in (retrograd, torch):
        t.manual_seed(11)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of nested tensors; compared by a test of its own
            made.append(build(t))
    ours, theirs = made
    assert repr(ours) == repr(theirs)
    assert [name for name, _ in ours.named_parameters()] == [
        name for name, _ in theirs.named_parameters()
    ]
    expected = theirs.state_dict()
    assert list(ours.state_dict()) == list(expected)
    for name, value in ours.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), expected[name].numpy(), err_msg=name)
    return ours.double(), theirs.double()


def run(t, module, arrays, options):
    """Results, gradients of the inputs and of the parameters."""
    inputs: dict[int, object] = {}
    for array in arrays:  # one array given twice is one tensor
        inputs.setdefault(id(array), t.tensor(array, requires_grad=True))
    given = {k: t.tensor(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    result = module(*(inputs[id(array)] for array in arrays), **given)
    parts = [part for part in result if part is not None] if isinstance(result, tuple) else [result]
    sum((part * part).sum() + part.sum() for part in parts).backward()
    gradients = [tensor.grad for tensor in inputs.values()]
    gradients += [parameter.grad for parameter in module.parameters()]
    module.zero_grad()
    return [part.detach().numpy() for part in parts], [
        None if gradient is None else gradient.numpy() for gradient in gradients
    ]


def compare(ours, theirs, arrays, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = run(torch, theirs, arrays, options)
        found = run(retrograd, ours, arrays, options)
    for a_list, b_list in zip(found, expected, strict=True):
        for a, b in zip(a_list, b_list, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


# ------------------------------------------------------------------------------------- attention

X, Y = numbers(5, 3, 8), numbers(6, 3, 8)
CAUSAL = np.triu(np.ones((5, 5), bool), 1)
WIDE = np.arange(3 * 2 * 5 * 6).reshape(6, 5, 6) % 7 == 0
PADDED = np.array([[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 1]], bool)
PADDED_SELF = PADDED[:, 1:].copy()
FIRST = {"batch_first": True}
XF, YF = X.swapaxes(0, 1).copy(), Y.swapaxes(0, 1).copy()

ATTENTION = [
    ({}, [X, X, X], {}),
    ({}, [X, Y, Y], {}),
    ({}, [X, Y, Y], {"need_weights": False}),
    ({"bias": False}, [X, Y, np.tanh(Y)], {"average_attn_weights": False}),
    ({"add_bias_kv": True}, [X, Y, Y], {"attn_mask": WIDE}),
    ({"add_zero_attn": True}, [X, Y, Y], {"key_padding_mask": PADDED}),
    (
        {"add_bias_kv": True, "add_zero_attn": True},
        [X, Y, Y],
        {"key_padding_mask": PADDED, "attn_mask": WIDE},
    ),
    ({"kdim": 3, "vdim": 5}, [X, numbers(6, 3, 3), numbers(6, 3, 5)], {}),
    ({"kdim": 3, "bias": False}, [X, numbers(6, 3, 3), Y], {"need_weights": False}),
    ({}, [X, X, X], {"attn_mask": CAUSAL, "is_causal": True, "need_weights": False}),
    ({}, [X, X, X], {"attn_mask": CAUSAL, "is_causal": True}),
    ({}, [X, X, X], {"attn_mask": np.where(CAUSAL, -np.inf, 0.3)}),
    (FIRST, [XF, XF, XF], {"key_padding_mask": PADDED_SELF, "need_weights": False}),
    (FIRST, [XF, YF, YF], {"key_padding_mask": PADDED, "attn_mask": WIDE}),
    (FIRST, [XF, YF, np.tanh(YF)], {"key_padding_mask": np.where(PADDED, -9.0, 0.1)}),
    ({}, [X[:, 0].copy(), Y[:, 0].copy(), Y[:, 1].copy()], {}),
    (FIRST, [X[:, 0].copy(), Y[:, 0].copy(), Y[:, 1].copy()], {"key_padding_mask": PADDED[0]}),
]


@pytest.mark.parametrize(("options", "arrays", "call"), ATTENTION)
def test_attention(options, arrays, call):
    ours, theirs = pair(lambda t: t.nn.MultiheadAttention(8, 2, **options))
    compare(ours, theirs, arrays, call)
    again = pickle.loads(pickle.dumps(copy.deepcopy(ours)))
    compare(again.eval(), theirs.eval(), arrays, call)


def test_attention_drops_the_same_weights():
    ours, theirs = pair(lambda t: t.nn.MultiheadAttention(8, 2, dropout=0.5))
    for t in (retrograd, torch):
        t.manual_seed(5)
    with torch.random.fork_rng():
        expected = theirs(*(torch.tensor(a) for a in (X, X, X)))
    found = ours(*(retrograd.tensor(a) for a in (X, X, X)))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-11)


def test_attention_to_second_order():
    ours, theirs = pair(lambda t: t.nn.MultiheadAttention(8, 2))
    found = []
    for t, module in ((retrograd, ours), (torch, theirs)):
        x = t.tensor(X, requires_grad=True)
        (slope,) = t.autograd.grad(module(x, x, x)[0].pow(2).sum(), x, create_graph=True)
        slope.pow(2).sum().backward()
        found.append([x.grad.numpy(), module.in_proj_weight.grad.numpy()])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


def raised(call):
    found = []
    for t in (retrograd, torch):
        with pytest.raises(Exception) as caught:
            call(t)
        found.append((type(caught.value).__name__, str(caught.value).splitlines()[0]))
    assert found[0] == found[1]


def zeros_mask(t):
    x = t.zeros(5, 3, 8)
    return t.nn.MultiheadAttention(8, 2)(x, x, x, attn_mask=t.zeros(5, 5, dtype=t.int64))


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.nn.MultiheadAttention(0, 1),
        lambda t: t.nn.MultiheadAttention(4, 0),
        lambda t: t.nn.MultiheadAttention(5, 2),
        zeros_mask,
        lambda t: t.nn.MultiheadAttention(8, 2)(*[t.zeros(1, 5, 3, 8)] * 3),
        lambda t: t.nn.TransformerEncoderLayer(8, 2, activation="selu"),
        lambda t: t.nn.Transformer(8, 2, 1, 1, 8)(t.zeros(5, 3, 8), t.zeros(5, 2, 8)),
        lambda t: t.nn.Transformer(8, 2, 1, 1, 8)(t.zeros(5, 3, 8), t.zeros(5, 3, 6)),
    ],
)
@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_refused(call):
    raised(call)


@pytest.mark.parametrize(
    "name",
    [
        *("MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer"),
        *("TransformerEncoder", "TransformerDecoder", "Transformer"),
    ],
)
def test_signatures(name):
    for part in ("__init__", "forward"):
        ours, theirs = (
            inspect.signature(getattr(getattr(t.nn, name), part)) for t in (retrograd, torch)
        )
        assert list(ours.parameters) == list(theirs.parameters)
        for key, parameter in theirs.parameters.items():
            if not callable(parameter.default):
                assert ours.parameters[key].default == parameter.default


# ----------------------------------------------------------------------------------- transformer

SHAPE = {"d_model": 8, "nhead": 2, "dim_feedforward": 12, "dropout": 0.0}
LAYERS = [
    {},
    {"norm_first": True},
    {"activation": "gelu", "layer_norm_eps": 1e-2},
    {"bias": False},
    {"batch_first": True},
]


@pytest.mark.parametrize("options", LAYERS)
def test_encoder_layer(options):
    ours, theirs = pair(lambda t: t.nn.TransformerEncoderLayer(**SHAPE, **options))
    x = XF if options.get("batch_first") else X
    compare(ours, theirs, [x], {})
    compare(ours, theirs, [x], {"src_mask": CAUSAL, "is_causal": True})
    compare(ours, theirs, [x], {"src_mask": CAUSAL, "src_key_padding_mask": PADDED_SELF})
    again = pickle.loads(pickle.dumps(copy.deepcopy(ours)))
    compare(again.eval(), theirs.eval(), [x], {"src_key_padding_mask": PADDED_SELF})


@pytest.mark.parametrize("options", LAYERS)
def test_decoder_layer(options):
    ours, theirs = pair(lambda t: t.nn.TransformerDecoderLayer(**SHAPE, **options))
    arrays = [XF, YF] if options.get("batch_first") else [X, Y]
    masks = {"tgt_mask": CAUSAL, "memory_mask": WIDE[0], "memory_key_padding_mask": PADDED}
    compare(ours, theirs, arrays, {})
    compare(ours, theirs, arrays, {**masks, "tgt_key_padding_mask": PADDED_SELF})
    again = pickle.loads(pickle.dumps(copy.deepcopy(ours)))
    compare(again.eval(), theirs.eval(), arrays, {"tgt_mask": CAUSAL, "tgt_is_causal": True})


def test_activations_that_are_modules():
    ours, theirs = pair(
        lambda t: t.nn.TransformerEncoderLayer(8, 2, 12, 0.0, activation=t.nn.ReLU())
    )
    compare(ours, theirs, [X], {})
    assert ours.activation_relu_or_gelu == theirs.activation_relu_or_gelu == 1


@pytest.mark.parametrize("options", [{}, {"norm_first": True, "batch_first": True}])
def test_whole_transformer(options):
    ours, theirs = pair(
        lambda t: t.nn.Transformer(**SHAPE, num_encoder_layers=2, num_decoder_layers=2, **options)
    )
    arrays = [YF, XF] if options else [Y, X]
    causal = retrograd.nn.Transformer.generate_square_subsequent_mask(5)
    expected = torch.nn.Transformer.generate_square_subsequent_mask(5)
    np.testing.assert_array_equal(causal.numpy(), expected.numpy())
    masks = {"tgt_mask": causal.numpy(), "src_key_padding_mask": PADDED}
    compare(ours, theirs, arrays, {})
    compare(ours, theirs, arrays, {**masks, "memory_key_padding_mask": PADDED})
    again = pickle.loads(pickle.dumps(copy.deepcopy(ours)))
    compare(again, theirs, arrays, masks)


def test_whole_transformer_with_dropout():
    options = {**SHAPE, "dropout": 0.2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    ours, theirs = pair(lambda t: t.nn.Transformer(**options))
    found = []
    for t, module in ((retrograd, ours), (torch, theirs)):
        t.manual_seed(3)
        found.append(module(t.tensor(Y), t.tensor(X)).detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-9)


TRAILING = np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], bool)


@pytest.mark.parametrize("mask", [TRAILING, PADDED_SELF, None])
@pytest.mark.parametrize("options", [{}, {"enable_nested_tensor": False}, {"norm": True}])
@pytest.mark.parametrize("grad", [False, True])
def test_padding_of_an_encoder_in_evaluation(mask, options, grad):
    """Without gradients padded positions at the end come out as zeros."""
    options = dict(options)
    has_norm = options.pop("norm", False)

    def build(t):
        layer = t.nn.TransformerEncoderLayer(**SHAPE, batch_first=True)
        norm = t.nn.LayerNorm(8) if has_norm else None
        return t.nn.TransformerEncoder(layer, 2, norm, **options)

    ours, theirs = pair(build)
    found = []
    for t, module in ((retrograd, ours), (torch, theirs)):
        module.eval()
        if has_norm:
            t.nn.init.constant_(module.norm.bias, 0.5)
        given = None if mask is None else t.tensor(mask)
        with t.set_grad_enabled(grad), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch calls its nested tensors a prototype
            found.append(module(t.tensor(XF), src_key_padding_mask=given).detach().numpy())
    np.testing.assert_allclose(*found, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(
    "build",
    [
        lambda t: t.nn.TransformerEncoderLayer(8, 2, 8),
        lambda t: t.nn.TransformerEncoderLayer(8, 2, 8, norm_first=True),
        lambda t: t.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, bias=False),
        lambda t: t.nn.TransformerEncoderLayer(8, 2, 8, batch_first=True, activation=t.tanh),
        lambda t: t.nn.TransformerEncoderLayer(9, 3, 8, batch_first=True),
        lambda t: t.nn.Linear(2, 2),
    ],
)
def test_warning_of_nested_tensors(build):
    found = []
    for t in (retrograd, torch):
        layer = build(t)
        with pytest.warns(UserWarning) as caught:
            encoder = t.nn.TransformerEncoder(layer, 1)
        found.append((str(caught[0].message), encoder.use_nested_tensor))
    assert found[0] == found[1]
