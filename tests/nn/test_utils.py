"""nn.utils without PyTorch: where retrograd refuses more than PyTorch does."""

from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.autograd import gradcheck, gradgradcheck
from retrograd.nn.utils import rnn


def test_lengths_beyond_the_padding_are_refused():
    with pytest.raises(RuntimeError, match="at most the padded length 5, but got 6"):
        rnn.pack_padded_sequence(torch.ones(5, 3, 2), [6, 4, 1])


def test_numbers_are_no_sequences():
    with pytest.raises(RuntimeError, match="at least one dimension"):
        rnn.pad_sequence([torch.tensor(1.0)])


def test_gradients_through_packing_and_padding():
    input = torch.randn(4, 3, 2, dtype=torch.float64, requires_grad=True)

    def run(x):
        packed = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        data = packed.data
        return rnn.pad_packed_sequence(packed._replace(data=data * data), True, 3.0)[0]

    assert gradcheck(run, (input,))
    assert gradgradcheck(run, (input,))


def test_clipping_leaves_no_history():
    x = torch.nn.Parameter(torch.ones(2))
    (x * 3).sum().backward()
    norm = torch.nn.utils.clip_grad_norm_(x, 1.0)
    assert norm.grad_fn is None
    assert x.grad.grad_fn is None
    assert x.grad.norm().item() == pytest.approx(1.0, rel=1e-5)
