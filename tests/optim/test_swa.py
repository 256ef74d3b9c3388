"""Weight averages: what the averages are, worked out by hand."""

from __future__ import annotations

import pytest

import retrograd as torch
from retrograd.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


def states(model, values):
    for value in values:
        with torch.no_grad():
            model.weight.fill_(value)
        yield model


@pytest.mark.parametrize("options", [{}, {"multi_avg_fn": get_swa_multi_avg_fn()}])
def test_every_state_counts_the_same(options):
    model = torch.nn.Linear(1, 1, bias=False)
    average = AveragedModel(model, **options)
    for state in states(model, [1.0, 3.0, 8.0, 0.0]):
        average.update_parameters(state)
    assert average.module.weight.item() == pytest.approx(3.0)
    assert average.n_averaged.item() == 4


@pytest.mark.parametrize(
    "options", [{"avg_fn": get_ema_avg_fn(0.5)}, {"multi_avg_fn": get_ema_multi_avg_fn(0.5)}]
)
def test_newer_states_count_more(options):
    model = torch.nn.Linear(1, 1, bias=False)
    average = AveragedModel(model, **options)
    for state in states(model, [8.0, 4.0, 2.0]):
        average.update_parameters(state)
    assert average.module.weight.item() == 4.0


def test_averaging_records_no_graph():
    model = torch.nn.Linear(2, 2)
    average = AveragedModel(model)
    average.update_parameters(model)
    average.update_parameters(model)
    assert average.module.weight.is_leaf and average.module.weight.requires_grad
    assert not average.n_averaged.requires_grad


def test_statistics_are_those_of_all_batches():
    model = torch.nn.BatchNorm1d(1)
    batches = [torch.tensor([[0.0], [2.0]]), torch.tensor([[4.0], [8.0]])]
    update_bn(batches, model)
    assert model.running_mean.item() == 3.5
    assert model.running_var.item() == 5.0
    assert model.momentum == 0.1


def test_rate_moves_from_what_another_schedule_sets():
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    scheduler = SWALR(optimizer, swa_lr=0.0, anneal_epochs=4, anneal_strategy="linear")
    rates = []
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        rates.append(round(scheduler.get_last_lr()[0], 12))
    assert rates == [0.75, 0.5, 0.25, 0.0, 0.0, 0.0]
