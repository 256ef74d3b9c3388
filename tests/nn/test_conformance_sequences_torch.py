"""Recurrent nets, packed sequences, attention and transformers at the edges."""

from __future__ import annotations

import pytest

from tests.nn.expressions import assert_alike, lines

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

RECURRENT = """
    d(lambda x: nn.RNN(3, 2, 2, nonlinearity="relu", bidirectional=True).double()(x)[0], r(4, 2, 3))
    d(lambda x, h: nn.GRU(3, 2, batch_first=True, bias=False).double()(x, h), r(2, 4, 3), r(1, 2,
        2))
    d(lambda x, h, c: (lambda o: (o[0], *o[1]))(nn.LSTM(3, 2, proj_size=1).double()(x, (h, c))),
        r(4, 2, 3), r(1, 2, 1), r(1, 2, 2))
    d(lambda x: nn.LSTM(3, 2, 2, bidirectional=True, proj_size=1).double()(x)[0], r(4, 3))
    nn.LSTM(3, 4, 2, dropout=0.5)(f(4, 2, 3))
    nn.LSTM(3, 4, 2, dropout=1.0)(f(4, 2, 3))
    nn.GRU(3, 4, 2, dropout=0.5).eval()(f(4, 2, 3))
    nn.LSTM(3, 2)(f(0, 2, 3))
    nn.LSTM(3, 2)(f(4, 0, 3))
    nn.RNN(3, 2)(f(4, 0, 3))
    nn.GRU(3, 2)(f(0, 2, 3))
    nn.RNN(3, 2)(f(4, 2, 4))
    nn.RNN(3, 2)(f(4))
    nn.RNN(3, 2)(f(1, 4, 2, 3))
    nn.RNN(3, 2)(f(4, 2, 3), f(1, 3, 2))
    nn.RNN(3, 2)(f(4, 2, 3), f(2, 2))
    nn.RNN(3, 2)(f(4, 3), f(1, 2, 2))
    nn.LSTM(3, 2)(f(4, 2, 3), f(1, 2, 2))
    nn.LSTM(3, 2)(f(4, 2, 3), (f(1, 2, 2), f(1, 2, 3)))
    nn.LSTM(3, 2)(f(4, 3), (f(1, 1, 2), f(1, 1, 2)))
    nn.LSTM(3, 2)(r(4, 2, 3))
    nn.GRU(3, 2)(r(4, 2, 3), r(1, 2, 2))
    nn.GRU(3, 2)(f(4, 2, 3), r(1, 2, 2))
    nn.GRU(3, 2, proj_size=1)
    nn.LSTM(3, 2, proj_size=2)
    nn.LSTM(3, 2, proj_size=-1)
    nn.RNN(3, 2, nonlinearity="sigmoid")
    nn.RNN(3, 2, dropout=0.5)
    nn.RNN(3, 2, dropout=1.5)
    nn.RNN(3, 2, dropout=True)
    nn.RNN(3, 0)
    nn.RNN(3, 2.0)
    nn.RNN(3, 2, 0)
    nn.RNN(3, 2, 2, "relu")
    nn.RNN(3, 2, nonlinearity="relu", bias=False, batch_first=True, bidirectional=True)
    [n for n, _ in nn.LSTM(3, 2, 2, bidirectional=True, proj_size=1).named_parameters()]
    [len(w) for w in nn.GRU(3, 2, 2, bidirectional=True).all_weights]
    deepcopy(nn.LSTM(3, 2))(f(4, 2, 3))
    repickled(nn.GRU(3, 2, 2))(f(4, 2, 3))
    d(lambda x, h: nn.RNNCell(3, 2, nonlinearity="relu").double()(x, h), r(4, 3), r(4, 2))
    d(lambda x, h: nn.GRUCell(3, 2, bias=False).double()(x, h), r(3), r(2))
    d(lambda x, h, c: nn.LSTMCell(3, 2).double()(x, (h, c)), r(4, 3), r(4, 2), r(4, 2) * 2)
    nn.LSTMCell(3, 2)(f(3))
    nn.LSTMCell(3, 2)(f(0, 3))
    nn.RNNCell(3, 2)(f(4, 2))
    nn.RNNCell(3, 2)(f(4, 3), f(3, 2))
    nn.RNNCell(3, 2)(f(4, 3), f(4, 3))
    nn.GRUCell(3, 2)(f(1, 4, 3))
    nn.GRUCell(3, 2)(f(3), f(1, 1, 2))
    nn.LSTMCell(3, 2)(f(4, 3), f(4, 2))
    nn.LSTMCell(3, 2)(f(4, 3), (f(4, 2), f(3, 2)))
    nn.RNNCell(3, 2, nonlinearity="sigmoid")(f(4, 3))
    nn.LSTMCell(3, 2)(r(4, 3))
    nn.RNNCell(3, 2, False)
    list(nn.utils.rnn.pack_sequence([r(3, 2), r(2, 2), r(1, 2)]))
    list(nn.utils.rnn.pack_sequence([r(1, 2), r(3, 2)], enforce_sorted=False))
    nn.utils.rnn.pack_sequence([r(1, 2), r(3, 2)])
    nn.utils.rnn.pack_padded_sequence(r(3, 2, 1), [3])
    nn.utils.rnn.pack_padded_sequence(r(3, 2, 1), [3, 0])
    nn.utils.rnn.pack_padded_sequence(r(3, 0, 1), t.empty(0, dtype=t.long))
    nn.utils.rnn.pack_padded_sequence(r(3, 2, 1), t.tensor([2.0, 1.0]))
    nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([r(3, 2), r(1, 2)]),
        padding_value=9.0, total_length=5)
    nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([r(3, 2), r(1, 2)]),
        batch_first=True)
    nn.utils.rnn.pad_packed_sequence(nn.utils.rnn.pack_sequence([r(3, 2), r(1, 2)]), total_length=2)
    nn.utils.rnn.pad_sequence([r(3, 2), r(1, 2)], True, -1.0)
    nn.utils.rnn.pad_sequence([r(3, 2), r(1, 2)], padding_side="left")
    nn.utils.rnn.pad_sequence([r(3, 2), r(1, 3)])
    nn.utils.rnn.pad_sequence([])
    nn.utils.rnn.pad_sequence([r(3, 2)], padding_side="up")
    nn.utils.rnn.unpad_sequence(nn.utils.rnn.pad_sequence([r(3, 2), r(1, 2)]), t.tensor([3, 1]))
    nn.utils.rnn.unpack_sequence(nn.utils.rnn.pack_sequence([r(1, 2), r(3, 2)],
        enforce_sorted=False))
    d(lambda x, y: nn.LSTM(2, 3, bidirectional=True).double()(nn.utils.rnn.pack_sequence([x, y],
        enforce_sorted=False))[0].data, r(1, 2), r(3, 2))
    nn.GRU(2, 3)(nn.utils.rnn.pack_sequence([f(1, 2), f(3, 2)], enforce_sorted=False))[1]
    nn.RNN(2, 3)(nn.utils.rnn.pack_sequence([f(3, 2)]), f(1, 2, 3))
    nn.RNN(2, 3)(nn.utils.rnn.pack_sequence([f(3, 1)]))
    nn.utils.rnn.pack_sequence([r(2, 2)]).double().is_cuda
    str(nn.utils.rnn.pack_sequence([r(2)]))
    nn.utils.rnn.PackedSequence(r(3), t.tensor([2, 1]))
    nn.utils.rnn.PackedSequence(r(3), t.tensor([2, 1]), t.tensor([1, 0])).unsorted_indices
"""

ATTENTION = """
    d(lambda q: nn.MultiheadAttention(4, 2, batch_first=True).double()(q, q, q), r(2, 3, 4))
    d(lambda q, k, v: nn.MultiheadAttention(4, 2, kdim=3, vdim=2).double()(q, k, v), r(3, 2, 4),
        r(5, 2, 3), r(5, 2, 2))
    d(lambda q: nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True).double()(q, q,
        q)[0], r(3, 4))
    d(lambda q: nn.MultiheadAttention(4, 2).double()(q, q, q, average_attn_weights=False), r(3, 2,
        4))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, need_weights=False)
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, key_padding_mask=t.tensor([[False, True, True],
        [False, False, True]]))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, attn_mask=t.ones(3, 3).triu(1).bool())
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, attn_mask=t.zeros(4, 3, 3))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, attn_mask=t.zeros(3, 2))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, attn_mask=t.zeros(3, 3, 3))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, attn_mask=t.zeros(3, 3, dtype=t.int64))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, key_padding_mask=t.zeros(3, 2).bool())
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, key_padding_mask=t.zeros(2, 3).bool(),
        attn_mask=t.zeros(3, 3))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, is_causal=True)
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 4)] * 3, is_causal=True,
        attn_mask=nn.Transformer.generate_square_subsequent_mask(3))
    nn.MultiheadAttention(4, 2)(f(3, 4), f(3, 1, 4), f(3, 4))
    nn.MultiheadAttention(4, 2)(f(4), f(4), f(4))
    nn.MultiheadAttention(4, 2)(f(3, 2, 4), f(3, 2, 4), f(4, 2, 4))
    nn.MultiheadAttention(4, 2)(*[f(3, 2, 5)] * 3)
    nn.MultiheadAttention(4, 2)(*[r(3, 2, 4)] * 3)
    nn.MultiheadAttention(4, 3)
    nn.MultiheadAttention(0, 1)
    nn.MultiheadAttention(4, 2, dropout=0.5)(*[f(3, 2, 4)] * 3)
    nn.MultiheadAttention(4, 2).eval()(*[f(0, 2, 4)] * 3)
    nn.MultiheadAttention(4, 2).eval()(*[f(3, 0, 4)] * 3)
    nn.MultiheadAttention(4, 2, batch_first=True).eval()(*[f(2, 3, 4)] * 3)
    d1(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), r(2, 3, 4), r(2, 5, 4), r(2, 5, 2))
    d1(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3), r(2, 3,
        4), r(2, 5, 4), r(2, 5, 2))
    d1(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m), r(1, 2, 3, 4), r(1, 2, 5,
        4), r(1, 2, 5, 4), r(3, 5))
    F.scaled_dot_product_attention(r(2, 3, 4), r(2, 5, 4), r(2, 5, 2), t.zeros(3, 5).bool())
    F.scaled_dot_product_attention(r(2, 3, 4), r(2, 5, 4), r(2, 5, 2), t.zeros(3, 5).bool(),
        is_causal=True)
    F.scaled_dot_product_attention(r(2, 3, 4), r(2, 5, 3), r(2, 5, 2))
    F.scaled_dot_product_attention(r(2, 3, 4), r(2, 5, 4), f(2, 5, 4))
    F.scaled_dot_product_attention(r(4), r(4), r(4))
    F.scaled_dot_product_attention(r(2, 3, 4), r(2, 5, 4), r(2, 5, 2), t.zeros(3, 5, dtype=t.int64))
    F.scaled_dot_product_attention(r(2, 4, 3, 4), r(2, 2, 5, 4), r(2, 2, 5, 4), enable_gqa=True)
    F.scaled_dot_product_attention(r(2, 3, 3, 4), r(2, 2, 5, 4), r(2, 2, 5, 4), enable_gqa=True)
    F.scaled_dot_product_attention(r(1, 1, 3, 4), r(1, 1, 5, 4), r(1, 1, 5, 4), dropout_p=1.5)
    d1(lambda x: nn.TransformerEncoderLayer(4, 2, 8, 0.0, "gelu", batch_first=True).double()(x),
        r(2, 3, 4))
    d1(lambda x, m: nn.TransformerDecoderLayer(4, 2, 8, 0.0, norm_first=True,
        bias=False).double()(x, m), r(3, 2, 4), r(5, 2, 4))
    nn.TransformerEncoderLayer(4, 2, 8, activation="tanh")
    nn.TransformerEncoderLayer(4, 2, 8)(f(3, 2, 4))
    nn.TransformerEncoderLayer(4, 2, 8).eval()(f(3, 2, 4), is_causal=True)
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, 0.0), 2, nn.LayerNorm(4))(f(3, 2,
        4), nn.Transformer.generate_square_subsequent_mask(3))
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 2).eval()(f(2, 3,
        4), src_key_padding_mask=t.tensor([[False, False, True], [False, True, True]]))
    nn.Transformer(4, 2, 1, 1, 8, 0.0)(f(3, 2, 4), f(2, 2, 4), tgt_is_causal=True,
        tgt_mask=nn.Transformer.generate_square_subsequent_mask(2))
    nn.Transformer(4, 2, 1, 1, 8)(f(3, 2, 4), f(2, 3, 4))
    nn.Transformer(4, 2, 1, 1, 8)(f(3, 2, 5), f(2, 2, 5))
    nn.Transformer(4, 3)
    nn.Transformer.generate_square_subsequent_mask(3, dtype=t.float64)
"""

TABLES = {"recurrent": RECURRENT, "attention": ATTENTION}
CASES = [pytest.param(line, id=line) for topic in TABLES for line in lines(TABLES[topic])]


@pytest.mark.parametrize("text", CASES)
def test_expression(text):
    assert_alike(torch, text)
