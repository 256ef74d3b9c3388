"""Twins of the recurrent networks and of the policy: loops over time are `lax.scan`."""

from typing import Any

import numpy

from benchmarks.twins.optimizers import adam, sgd, training
from benchmarks.twins.registry import Twin, twin
from benchmarks.workloads.registry import plain

INPUTS, HIDDEN, BATCH = 16, 32, 8


def lstm(jax: Any, parameters: Any, inputs: Any, carried: Any) -> Any:
    """The states after every step of `inputs` (time, batch, feature), and the last two.

    What does not depend on the state before, the product with the inputs, is taken for all steps
    at once.
    """
    weight_input, weight_hidden, bias_input, bias_hidden = parameters
    jnp = jax.numpy
    from_inputs = inputs @ weight_input.T + (bias_input + bias_hidden)

    def cell(carried: Any, from_input: Any) -> Any:
        hidden, memory = carried
        gates = from_input + hidden @ weight_hidden.T
        into, forget, candidate, out = jnp.split(gates, 4, axis=-1)
        memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(into) * jnp.tanh(candidate)
        hidden = jax.nn.sigmoid(out) * jnp.tanh(memory)
        return (hidden, memory), hidden

    # unrolled, as a whole or by 2 to 25 steps, it is slower
    return jax.lax.scan(cell, carried, from_inputs)


def _weights() -> list[Any]:
    shapes = [(4 * HIDDEN, INPUTS), (4 * HIDDEN, HIDDEN), (4 * HIDDEN,), (4 * HIDDEN,)]
    return [plain(*shape) for shape in (*shapes, (INPUTS, HIDDEN), (INPUTS,))]


def _nothing() -> Any:
    return numpy.zeros((BATCH, HIDDEN), numpy.float32), numpy.zeros((BATCH, HIDDEN), numpy.float32)


@twin
def lstm_cell(jax: Any) -> Twin:
    def loss(parameters: Any, inputs: Any, targets: Any) -> Any:
        (hidden, _), _ = lstm(jax, parameters[:4], inputs, _nothing())
        difference = hidden @ parameters[4].T + parameters[5] - targets
        return (difference * difference).mean()

    return training(
        *(jax, loss, _weights(), sgd(jax, 0.01)), plain(50, BATCH, INPUTS), plain(BATCH, INPUTS)
    )


@twin
def lstm_pieces(jax: Any) -> Twin:
    """Four updates in one step; the state that a piece hands on is a constant for the next."""

    def loss(parameters: Any, piece: Any, targets: Any, carried: Any) -> Any:
        carried, outputs = lstm(jax, parameters[:4], piece, carried)
        difference = outputs @ parameters[4].T + parameters[5] - targets
        return (difference * difference).mean(), carried

    _, update = sgd(jax, 0.01)

    def step(state: Any, sequence: Any, targets: Any) -> Any:
        def piece(carried: Any, batch: Any) -> Any:
            parameters, hidden = carried
            differentiated = jax.value_and_grad(loss, has_aux=True)
            (value, hidden), gradients = differentiated(parameters, *batch, hidden)
            parameters, _ = update(parameters, gradients, ())
            return (parameters, hidden), value

        def pieces(values: Any) -> Any:
            """(batch, time, feature) as (piece, time, batch, feature)."""
            return values.reshape(BATCH, 4, 25, INPUTS).transpose(1, 2, 0, 3)

        carried = (state[0], _nothing())
        (parameters, _), values = jax.lax.scan(piece, carried, (pieces(sequence), pieces(targets)))
        return (parameters, ()), values[-1]

    shape = (BATCH, 100, INPUTS)
    return Twin(step, (_weights(), ()), (plain(*shape), plain(*shape)))


@twin
def policy_plain(jax: Any) -> Twin:
    """One state after the other, as they come from a world that answers to each action.

    `vmap` in the place of `lax.map` would be another program: one that has all states at once.
    """

    def loss(parameters: Any, states: Any, returns: Any) -> Any:
        first, first_bias, second, second_bias = parameters

        def score(state: Any) -> Any:
            hidden = jax.nn.relu(first @ state + first_bias)
            return jax.nn.log_softmax(second @ hidden + second_bias)

        scores = jax.lax.map(score, states)
        turns = jax.numpy.arange(200)
        return -(scores[turns, turns % 2] * returns).sum()

    parameters = [plain(64, 4), plain(64), plain(2, 64), plain(2)]
    states = numpy.stack([plain(4, scale=0.01 * (turn % 17 - 8)) for turn in range(200)])
    return training(jax, loss, parameters, adam(jax, 0.001), states, plain(200))
