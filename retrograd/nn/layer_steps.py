"""The steps of an LSTM or GRU layer as one node of the graph, for the usual case.

Step by step, they cost about ten small operations each with a node of its own. Here one `Function`
runs all steps of a layer on arrays: what does not depend on the state before is computed for all
steps at once, in the forward pass as in the backward pass. A gradient that shall itself be
differentiable is taken from the ordinary operations of `recurrence`, which are run again for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd import api
from retrograd.autograd.function import Function
from retrograd.backend import CPU, cpu_recurrent
from retrograd.backend.device import BACKENDS
from retrograd.engine.state import HOT, STATE
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Array, Tensor, wrap

StepByStep = Callable[..., tuple[Tensor, ...]]

_ON_THE_CPU: cpu_recurrent.Layers = CPU.recurrent


def _layers_of(array: Array) -> Any:
    """What runs layers of arrays like this one at once; None on a device that cannot."""
    if type(array) is CPU.array:
        return _ON_THE_CPU
    backend = BACKENDS.get(type(array))
    return None if backend is None else backend.recurrent


def usable(*tensors: Tensor) -> bool:
    """Whether the layer's tensors are plain ones of one device, and nothing watches ops."""
    array = tensors[0]._array
    kind, place = array.dtype, type(array)
    watched = STATE.on_saved is not None  # which is told of the one node as well
    layers = _layers_of(array)
    if HOT["UNUSUAL"] != watched or STATE.transforms or layers is None or not layers.takes(kind):
        return False
    return all(
        type(t)._level == 0 and type(t._array) is place and t._array.dtype is kind and t._array.size
        for t in tensors
    )


def _fit(input: Array, state: Sequence[Tensor], weights: Sequence[Tensor]) -> bool:
    """Whether shapes are those of a layer: `input` may have time in front."""
    batch, width = state[0]._array.shape
    rows = (4 if len(state) == 2 else 3) * width
    return (
        weights[0]._array.shape == (rows, input.shape[-1])
        and weights[1]._array.shape == (rows, width)
        and all(bias._array.shape == (rows,) for bias in weights[2:])
        and all(one._array.shape == (batch, width) for one in state)
        and input.shape[-2] == batch
        and batch * rows < 2**31
    )


def single_step(input: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor]) -> Any:
    """The new state as a tuple, from one op; None where it takes the ordinary operations.

    `input` has no time. The rest is as in `layer_steps`, with LSTM or GRU weights.
    """
    fits = (
        STATE.autocast is None
        and usable(input, *state, *weights)
        and _fit(input._array, state, weights)
    )
    if not fits:
        return None
    step = RECORDED._lstm_step if len(state) == 2 else RECORDED._gru_step
    found: tuple[Tensor, ...] = step(input, *state, *weights, *(None,) * (4 - len(weights)))
    return found[: len(state)]


def layer_usable(input: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor]) -> bool:
    """Whether `layer_steps` takes these. The CPU's functions look at shapes themselves."""
    if not usable(input, *state, *weights):
        return False
    return type(input._array) is CPU.array or _fit(input._array, state, weights)


def layer_steps(
    input: Tensor, state: Sequence[Tensor], weights: Sequence[Tensor], step_by_step: StepByStep
) -> tuple[Tensor, ...]:
    """The hidden states of all steps, and of an LSTM the last cell state.

    `input` is time first; an LSTM's `state` is two tensors, a GRU's is one. `weights` are weight_ih
    and weight_hh, then the biases if there are any. `step_by_step` computes the same from all of
    these tensors, with ordinary operations.
    """
    tensors = (input, *state, *weights)
    if STATE.grad_enabled:
        steps = LSTMSteps if len(state) == 2 else GRUSteps
        found: tuple[Tensor, ...] = steps.apply(len(state), step_by_step, *tensors)
        return found
    return _results(len(state), _forward(len(state), tensors))


def _forward(states: int, tensors: Sequence[Tensor]) -> tuple[Array, ...]:
    """The gates, the hidden states, and the cell states or what a GRU needs of its steps."""
    input, *arrays = (tensor._array for tensor in tensors)
    steps, batch, _ = input.shape
    weight_ih, weight_hh, *biases = arrays[states:]
    layers = _layers_of(input)
    gates = layers.product(input.reshape(steps * batch, -1), weight_ih.T).reshape(steps, batch, -1)
    run = layers.lstm if states == 2 else layers.gru
    return gates, *run(gates, *arrays[:states], weight_hh, *(biases or (None, None)))


def _results(states: int, run: tuple[Array, ...]) -> tuple[Tensor, ...]:
    _, hidden, other = run
    return (wrap(hidden[1:]), wrap(other[-1].copy()))[:states]


class LayerSteps(Function):
    """All steps of one layer in one direction; `states` is 2 of an LSTM, 1 of a GRU."""

    @staticmethod
    def forward(
        ctx: Any, states: int, step_by_step: StepByStep, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        """See `layer_steps`."""
        run = _forward(states, tensors)
        ctx.states, ctx.step_by_step = states, step_by_step
        ctx.save_for_backward(*tensors, *(wrap(array) for array in run))
        return _results(states, run)

    @staticmethod
    def backward(ctx: Any, *of_results: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the tensors."""
        tensors, computed = ctx.saved_tensors[:-3], ctx.saved_tensors[-3:]
        needed = ctx.needs_input_grad[2:]
        if STATE.grad_enabled:  # create_graph
            results = ctx.step_by_step(*tensors)
            wanted = [tensor for tensor, need in zip(tensors, needed, strict=True) if need]
            found = iter(api.grad(results, wanted, of_results, create_graph=True))
            return (None, None, *(next(found) if need else None for need in needed))
        gates, hidden, other = (tensor._array for tensor in computed)
        input, *arrays = (tensor._array for tensor in tensors)
        weight_ih, weight_hh = arrays[ctx.states : ctx.states + 2]
        layers = _layers_of(input)
        product = layers.product
        slopes = [tensor._array for tensor in of_results]
        if ctx.states == 2:
            share, *of_first = layers.lstm_gradients(gates, other, weight_hh, *slopes)
            own = share
        else:
            share, own, *of_first = layers.gru_gradients(gates, other, hidden, weight_hh, *slopes)
        share, own = (x.reshape(-1, x.shape[-1]) for x in (share, own))
        of_weight_ih, of_weight_hh = needed[1 + ctx.states : 3 + ctx.states]
        parts: list[Array | None] = [
            product(share, weight_ih).reshape(input.shape) if needed[0] else None,
            *of_first,
            product(share.T, input.reshape(len(share), -1)) if of_weight_ih else None,
            product(own.T, hidden[:-1].reshape(len(own), -1)) if of_weight_hh else None,
        ]
        if len(needed) > len(parts):  # the sums of both biases are one array only for an LSTM
            parts += [layers.total(x) for x in (share, own)]
        return (None, None, *(None if part is None else wrap(part) for part in parts))


class LSTMSteps(LayerSteps):
    """Two states, four gates."""


class GRUSteps(LayerSteps):
    """One state, three gates."""
