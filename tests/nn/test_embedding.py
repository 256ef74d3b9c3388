"""Embedding and EmbeddingBag: what needs no second library."""

from __future__ import annotations

import pytest

import retrograd as torch


def test_padding_vector_is_zero_and_gets_no_gradient():
    layer = torch.nn.Embedding(4, 2, padding_idx=1)
    assert layer.weight[1].tolist() == [0.0, 0.0]
    layer(torch.tensor([0, 1, 1, 3])).sum().backward()
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [0, 0], [1, 1]]


def test_pretrained_table_is_shared_and_frozen():
    table = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    layer = torch.nn.Embedding.from_pretrained(table)
    assert not layer.weight.requires_grad
    table[0, 0] = 9.0
    assert layer.weight[0, 0] == 9.0
    assert torch.nn.EmbeddingBag.from_pretrained(table, freeze=False).weight.requires_grad


def test_max_norm_shortens_only_the_vectors_used():
    table = torch.tensor([[3.0, 4.0], [6.0, 8.0]])
    layer = torch.nn.Embedding.from_pretrained(table, max_norm=1.0)
    layer(torch.tensor([0]))
    assert layer.weight[0].tolist() == pytest.approx([0.6, 0.8], abs=1e-6)
    assert layer.weight[1].tolist() == [6.0, 8.0]


def test_bags_sum_between_offsets():
    table = torch.tensor([[1.0], [10.0], [100.0]])
    layer = torch.nn.EmbeddingBag.from_pretrained(table, mode="sum")
    assert layer(torch.tensor([0, 1, 2]), torch.tensor([0, 2, 2])).tolist() == [[11], [0], [100]]


def test_subclass_survives_from_pretrained():
    class Words(torch.nn.Embedding):
        pass

    assert type(Words.from_pretrained(torch.ones(2, 2))) is Words


def test_gradients_of_frequent_rows_are_divided_by_their_counts():
    layer = torch.nn.EmbeddingBag(3, 1, mode="sum", scale_grad_by_freq=True)
    layer(torch.tensor([2, 0, 2, 2]), torch.tensor([0, 3])).sum().backward()
    assert layer.weight.grad.flatten().tolist() == [1.0, 0.0, 1.0]


def test_shortening_a_parameter_is_not_recorded():
    layer = torch.nn.Embedding(3, 2, max_norm=0.1)
    layer(torch.tensor([0, 2])).sum().backward()
    assert layer.weight.is_leaf
    assert layer.weight.grad.tolist() == [[1, 1], [0, 0], [1, 1]]
    assert layer.weight[0].norm().item() == pytest.approx(0.1, abs=1e-5)
