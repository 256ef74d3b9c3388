"""Embedding and EmbeddingBag beside PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest

import retrograd
from tests.nn.beside import case, compare, same, same_error

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

WORDS = np.array([[1, 2, 1], [4, 0, 5]])
LINE = np.array([1, 2, 4, 5, 4, 3, 2, 0])
TWICE = np.array([1, 4, 4, 0, 3, 1, 3, 0])
STARTS = np.array([0, 3, 3, 6])
ENDS = np.array([0, 3, 6, 8])
SHARES = np.linspace(0.1, 2.0, 8)
CASES = [
    case("Embedding", 6, 3, inputs=WORDS),
    case("Embedding", 6, 3, inputs=WORDS.astype(np.int32)),
    case("Embedding", 6, 3, 1, inputs=WORDS),
    case("Embedding", 6, 3, padding_idx=-2, inputs=WORDS),
    case("Embedding", 6, 3, padding_idx=0, max_norm=0.7, inputs=WORDS),
    case("Embedding", 6, 3, max_norm=1, norm_type=1.0, inputs=WORDS),
    case("Embedding", 6, 3, scale_grad_by_freq=True, inputs=WORDS),
    case("EmbeddingBag", 6, 3, inputs=WORDS),
    case("EmbeddingBag", 6, 3, mode="sum", inputs=[LINE, STARTS]),
    case("EmbeddingBag", 6, 3, mode="mean", inputs=[LINE, STARTS]),
    case("EmbeddingBag", 6, 3, mode="max", inputs=[LINE, STARTS]),
    case("EmbeddingBag", 6, 3, mode="sum", inputs=[LINE, STARTS, SHARES]),
    case("EmbeddingBag", 6, 3, padding_idx=2, inputs=[LINE, STARTS]),
    case("EmbeddingBag", 6, 3, padding_idx=-1, mode="max", inputs=[LINE, STARTS]),
    case("EmbeddingBag", 6, 3, include_last_offset=True, inputs=[LINE, ENDS]),
    case("EmbeddingBag", 6, 3, max_norm=0.5, norm_type=1.0, inputs=[LINE, STARTS]),
    # Every index twice: with other counts PyTorch's CPU kernel divides by those of other rows.
    case("EmbeddingBag", 6, 3, scale_grad_by_freq=True, mode="sum", inputs=[TWICE, STARTS]),
]


@pytest.mark.parametrize("chosen", CASES, ids=str)
def test_layer(chosen):
    # PyTorch has no second derivative of the bags.
    compare(torch, chosen, second=chosen.name == "Embedding")


TABLE = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("name", ["Embedding", "EmbeddingBag"])
@pytest.mark.parametrize(
    "options", [{}, {"freeze": False}, {"padding_idx": -1}, {"max_norm": 2.0, "norm_type": 1.0}]
)
def test_from_pretrained(name, options):
    results = []
    for t in (retrograd, torch):
        table = t.tensor(TABLE)
        layer = getattr(t.nn, name).from_pretrained(table, **options)
        output = layer(t.tensor([[0, 3], [1, 1]]))
        results.append((layer, output, table))
    (ours, output, table), (theirs, expected, real_table) = results
    assert repr(ours) == repr(theirs)
    assert ours.weight.requires_grad == theirs.weight.requires_grad
    same(output, expected, rtol=1e-12, atol=0)
    # The table is shared: `max_norm` writes into it.
    same(table, real_table, rtol=1e-12, atol=0)


ERRORS = {
    "Embedding padding": lambda t: t.nn.Embedding(4, 2, padding_idx=4),
    "EmbeddingBag padding": lambda t: t.nn.EmbeddingBag(4, 2, padding_idx=-5),
    "Embedding weight": lambda t: t.nn.Embedding(4, 2, _weight=t.ones(4, 3)),
    "pretrained rank": lambda t: t.nn.Embedding.from_pretrained(t.ones(4)),
    "bag pretrained rank": lambda t: t.nn.EmbeddingBag.from_pretrained(t.ones(4)),
    "index too large": lambda t: t.nn.Embedding(4, 2)(t.tensor([4])),
    "float index": lambda t: t.nn.Embedding(4, 2)(t.tensor([1.0])),
    "bag mode": lambda t: t.nn.EmbeddingBag(4, 2, mode="other")(t.tensor([[1]])),
    "bag without offsets": lambda t: t.nn.EmbeddingBag(4, 2)(t.tensor([1])),
}


@pytest.mark.parametrize("build", ERRORS.values(), ids=ERRORS)
def test_errors(build):
    same_error(torch, build)
