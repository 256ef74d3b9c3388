"""Loss layers: state, distances of one's own, targets that name no label."""

from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.nn.loss import _Loss, _WeightedLoss


def test_weights_are_state_and_follow_the_module():
    loss = torch.nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0]))
    assert isinstance(loss, _WeightedLoss) and isinstance(loss, _Loss)
    assert list(loss.parameters()) == []
    loss.double()
    assert loss.weight.dtype is torch.float64
    scores = torch.zeros(2, 2, dtype=torch.float64)
    assert loss(scores, torch.tensor([0, 1])).dtype is torch.float64


def test_any_distance():
    calls = []

    def distance(a, b):
        calls.append(a)
        return (a - b).abs().sum(-1)

    loss = torch.nn.TripletMarginWithDistanceLoss(distance_function=distance, margin=2.0)
    value = loss(torch.zeros(1, 2), torch.ones(1, 2), torch.full((1, 2), 1.5))
    assert value.item() == 1.0 and len(calls) == 2


def test_old_name_warns():
    with pytest.warns(FutureWarning, match="`NLLLoss2d` has been deprecated"):
        loss = torch.nn.NLLLoss2d(reduction="sum")
    assert loss.reduction == "sum"


@pytest.mark.parametrize("bad", [-1, 5])
def test_ctc_targets_that_are_no_labels(bad):
    frames = torch.zeros(4, 1, 5).log_softmax(2)
    lengths = (torch.tensor([4]), torch.tensor([2]))
    with pytest.raises(IndexError, match=f"target {bad} is out of bounds for 5 labels"):
        torch.nn.CTCLoss()(frames, torch.tensor([[1, bad]]), *lengths)
    # what lies beyond a target's length is not read
    padded = torch.tensor([[1, 2, bad]])
    assert torch.nn.CTCLoss()(frames, padded, *lengths).isfinite()


def test_ctc_learns_an_alignment():
    torch.manual_seed(0)
    scores = torch.randn(6, 1, 4, requires_grad=True)
    lengths = (torch.tensor([6]), torch.tensor([3]))
    loss = torch.nn.CTCLoss()
    for _ in range(60):
        value = loss(scores.log_softmax(2), torch.tensor([[1, 2, 2]]), *lengths)
        (slope,) = torch.autograd.grad(value, scores)
        with torch.no_grad():
            scores -= 5 * slope
    path = scores.argmax(2)[:, 0].tolist()
    merged = [label for i, label in enumerate(path) if i == 0 or label != path[i - 1]]
    assert [label for label in merged if label] == [1, 2, 2]
