"""Optimizers with `differentiable=True` inside of vmap: each example takes its own steps."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:There is a performance drop"),  # PyTorch's own
]

NAMES = (
    *("SGD", "Adam", "AdamW", "Adagrad", "RMSprop"),
    *("NAdam", "RAdam", "Adamax", "Adadelta", "ASGD"),
)


def trained(library: Any, name: str) -> Any:
    def train(start: Any) -> Any:
        weight = start.clone()
        optimizer = getattr(library.optim, name)([weight], lr=0.1, differentiable=True)
        for _ in range(3):
            weight.grad = weight * 2 + 1
            optimizer.step()
        return weight

    return library.vmap(train)(library.arange(6.0).reshape(3, 2)).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_each_example_takes_its_own_steps(name: str) -> None:
    expected = trained(torch, name)
    for found, row in zip(trained(retrograd, name), expected, strict=True):
        assert found == pytest.approx(row, rel=1e-5, abs=1e-6)
