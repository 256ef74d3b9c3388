"""Plain tensor code: single ops, chains of them, a regression written by hand."""

from typing import Any

import numpy

from benchmarks.workloads.registry import Prepared, workload


@workload("add with grad, 4 elements")
def add(torch: Any) -> Prepared:
    left = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    right = torch.tensor([0.5, 0.25, -0.5, -0.25], requires_grad=True)

    def step() -> Any:
        return left + right

    return Prepared(step, [left, right])


@workload("50-op chain, 4 elements")
def chain(torch: Any) -> Prepared:
    factor = torch.tensor([0.9, 0.8, 1.1, 0.7], requires_grad=True)
    offset = torch.tensor([0.1, 0.2, 0.3, 0.4], requires_grad=True)

    def step() -> Any:
        factor.grad = None
        offset.grad = None
        value = factor
        for _ in range(25):
            value = value * factor
            value = value + offset
        total = value.sum()
        total.backward()
        return total

    return Prepared(step, [factor, offset])


@workload("linear regression step")
def regression(torch: Any) -> Prepared:
    inputs = torch.tensor([[0.1 * row, 1.0 - 0.05 * row, (row % 5) * 0.2] for row in range(32)])
    targets = torch.tensor([[0.3 * row - (row % 3)] for row in range(32)])
    weight = torch.tensor([[0.1], [0.2], [0.3]], requires_grad=True)
    bias = torch.zeros(1, requires_grad=True)

    def step() -> Any:
        difference = inputs @ weight + bias - targets
        loss = (difference * difference).mean()
        loss.backward()
        with torch.no_grad():
            weight.sub_(0.01 * weight.grad)
            bias.sub_(0.01 * bias.grad)
        weight.grad = None
        bias.grad = None
        return loss

    return Prepared(step, [weight, bias])


@workload("broadcast chain, 32 x 32")
def broadcast(torch: Any) -> Prepared:
    positions = [0.03 * index - 0.5 for index in range(32)]
    column = torch.tensor([[value] for value in positions], requires_grad=True)
    row = torch.tensor([positions], requires_grad=True)
    vector = torch.tensor(positions, requires_grad=True)
    scale = torch.tensor(0.75, requires_grad=True)
    leaves = [column, row, vector, scale]

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        value = column * row
        for _ in range(4):
            value = (value + vector) * scale
            value = value * column - row
        total = value.sum()
        total.backward()
        return total

    return Prepared(step, leaves)


@workload("elementwise chain, 4M elements")
def large(torch: Any) -> Prepared:
    count = 4_000_000
    values = torch.from_numpy(numpy.linspace(-1.0, 1.0, count, dtype=numpy.float32))
    values.requires_grad_()

    def step() -> Any:
        values.grad = None
        shifted = values * 1.5 + 0.25
        squared = shifted * shifted
        total = (squared.relu() * shifted - values).mean()
        total.backward()
        return total

    return Prepared(step, [values])
