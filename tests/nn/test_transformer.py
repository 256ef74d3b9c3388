"""Attention and the Transformer: what they must do, whatever the numbers."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_weights_of_attention_are_shares_of_what_may_be_seen():
    torch.manual_seed(0)
    attention = torch.nn.MultiheadAttention(8, 4, batch_first=True)
    x = torch.randn(2, 5, 8)
    hidden = torch.tensor([[False] * 5, [False, False, True, False, True]])
    _, weights = attention(x, x, x, key_padding_mask=hidden, average_attn_weights=False)
    assert weights.shape == (2, 4, 5, 5)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 4, 5))
    assert (weights[1, :, :, [2, 4]] == 0).all()


def test_a_causal_encoder_does_not_look_ahead():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2)
    mask = torch.nn.Transformer.generate_square_subsequent_mask(6)
    x = torch.randn(1, 6, 8, requires_grad=True)
    encoder(x, mask=mask)[0, 2, 0].backward()
    seen = (x.grad[0] != 0).any(-1).tolist()
    assert seen == [True, True, True, False, False, False]


def test_mask_of_a_dtype():
    mask = torch.nn.Transformer.generate_square_subsequent_mask(3, dtype=torch.float64)
    assert mask.dtype is torch.float64 and mask[0, 1] == float("-inf") and mask[1, 0] == 0


def test_layers_of_a_stack_are_copies():
    layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    decoder = torch.nn.TransformerDecoder(layer, 3)
    weights = [part.linear1.weight for part in decoder.layers]
    assert len({id(weight) for weight in [*weights, layer.linear1.weight]}) == 4
    assert all(torch.equal(weight, layer.linear1.weight) for weight in weights)


def test_parts_of_ones_own():
    class Same(torch.nn.Module):
        def forward(self, first, *rest, **masks):
            return first

    model = torch.nn.Transformer(8, 2, custom_encoder=Same(), custom_decoder=Same())
    assert list(model.parameters()) == []
    target = torch.ones(5, 3, 8)
    assert model(torch.zeros(7, 3, 8), target) is target


def test_masks_of_two_kinds_are_mixed_with_a_warning():
    attention = torch.nn.MultiheadAttention(8, 2)
    x = torch.ones(3, 2, 8)
    masks = {"key_padding_mask": torch.zeros(2, 3), "attn_mask": torch.zeros(3, 3).bool()}
    with pytest.warns(UserWarning, match="mismatched key_padding_mask and attn_mask"):
        attention(x, x, x, **masks)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16)
    with pytest.warns(UserWarning, match="mismatched src_key_padding_mask and src_mask"):
        layer(x, src_mask=masks["attn_mask"], src_key_padding_mask=masks["key_padding_mask"])


def test_a_small_transformer_learns_to_copy():
    torch.manual_seed(0)
    model = torch.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    source = torch.randn(4, 5, 8)
    target = torch.nn.functional.layer_norm(source, (8,))
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = torch.nn.MSELoss()(model(source, source), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 4
