"""Twins of plain tensor code."""

from typing import Any

import numpy

from benchmarks.twins.optimizers import sgd, training
from benchmarks.twins.registry import Twin, floats, function_of, twin, value_of

FOUR = [floats([0.9, 0.8, 1.1, 0.7]), floats([0.1, 0.2, 0.3, 0.4])]


@twin
def add(jax: Any) -> Twin:
    left = floats([1.0, 2.0, 3.0, 4.0])
    right = floats([0.5, 0.25, -0.5, -0.25])
    return value_of(jax.numpy.add, left, right, leaves=[left, right])


@twin
def chain(jax: Any) -> Twin:
    def total(factor: Any, offset: Any) -> Any:
        value = factor
        for _ in range(25):
            value = value * factor + offset
        return value.sum()

    return function_of(jax.value_and_grad(total, argnums=(0, 1)), *FOUR)


@twin
def regression(jax: Any) -> Twin:
    rows = range(32)
    inputs = floats([[0.1 * row, 1.0 - 0.05 * row, (row % 5) * 0.2] for row in rows])
    targets = floats([[0.3 * row - (row % 3)] for row in rows])

    def loss(parameters: Any, inputs: Any, targets: Any) -> Any:
        weight, bias = parameters
        difference = inputs @ weight + bias - targets
        return (difference * difference).mean()

    parameters = [floats([[0.1], [0.2], [0.3]]), numpy.zeros(1, numpy.float32)]
    return training(jax, loss, parameters, sgd(jax, 0.01), inputs, targets)


@twin
def broadcast(jax: Any) -> Twin:
    positions = floats([0.03 * index - 0.5 for index in range(32)])

    def total(column: Any, row: Any, vector: Any, scale: Any) -> Any:
        value = column * row
        for _ in range(4):
            value = (value + vector) * scale
            value = value * column - row
        return value.sum()

    step = jax.value_and_grad(total, argnums=(0, 1, 2, 3))
    return function_of(step, positions[:, None], positions[None], positions, numpy.float32(0.75))


@twin
def large(jax: Any) -> Twin:
    def total(values: Any) -> Any:
        shifted = values * 1.5 + 0.25
        squared = shifted * shifted
        return (jax.nn.relu(squared) * shifted - values).mean()

    values = numpy.linspace(-1.0, 1.0, 4_000_000, dtype=numpy.float32)
    return function_of(jax.value_and_grad(total, argnums=(0,)), values)
