"""The steps of an LSTM layer as one node of the graph, for the usual case.

Step by step, an LSTM costs about ten small operations each with a node of its own. Here one
`Function` runs all steps of a layer on arrays: what does not depend on the state before is computed
for all steps at once, in the forward pass as in the backward pass. A gradient that shall itself be
differentiable is taken from the ordinary operations of `recurrence`, which are run again for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.autograd import api
from retrograd.autograd.function import Function
from retrograd.backend import CPU
from retrograd.backend.cpu_lstm import Forward, gradients
from retrograd.engine.state import HOT, STATE
from retrograd.tensor import Array, Tensor, wrap

StepByStep = Callable[..., tuple[Tensor, Tensor]]


def usable(*tensors: Tensor) -> bool:
    """Whether the layer's tensors are plain ones of the CPU, and nothing watches ops."""
    array = tensors[0]._array
    kind = array.dtype
    if HOT["UNUSUAL"] or STATE.transforms or kind.char not in "fd" or type(array) is not CPU.array:
        return False
    return all(type(t)._level == 0 and t._array.dtype is kind and t._array.size for t in tensors)


def lstm_steps(
    input: Tensor, hidden: Tensor, cell: Tensor, weights: Sequence[Tensor], step_by_step: StepByStep
) -> tuple[Tensor, Tensor]:
    """The hidden states of all steps, and the last cell state.

    `input` is time first. `weights` are weight_ih and weight_hh, then the biases if there are any.
    `step_by_step` computes the same from all of these tensors, with ordinary operations.
    """
    if STATE.grad_enabled:
        found: tuple[Tensor, Tensor] = LSTMSteps.apply(step_by_step, input, hidden, cell, *weights)
        return found
    run = Forward(*(t._array for t in (input, hidden, cell, *weights)))
    return wrap(run.hidden[1:]), wrap(run.cell[-1])


class LSTMSteps(Function):
    """All steps of one layer in one direction."""

    @staticmethod
    def forward(ctx: Any, step_by_step: StepByStep, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        """See `lstm_steps`."""
        run = Forward(*(tensor._array for tensor in tensors))
        ctx.step_by_step = step_by_step
        # what the backward pass needs; the states are one array with the initial ones before them
        computed = (run.gates, run.hidden, run.cell, run.bent)
        ctx.save_for_backward(*tensors, *(wrap(array) for array in computed))
        return wrap(run.hidden[1:]), wrap(run.cell[-1].copy())

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor, of_cell: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients of the tensors."""
        tensors, computed = ctx.saved_tensors[:-4], ctx.saved_tensors[-4:]
        needed = ctx.needs_input_grad[1:]
        if STATE.grad_enabled:  # create_graph
            results = ctx.step_by_step(*tensors)
            wanted = [tensor for tensor, need in zip(tensors, needed, strict=True) if need]
            found = iter(api.grad(results, wanted, (of_hidden, of_cell), create_graph=True))
            return (None, *(next(found) if need else None for need in needed))
        gates, states, cells, bent = (tensor._array for tensor in computed)
        input, _, _, weight_ih, weight_hh = (tensor._array for tensor in tensors[:5])
        of_steps, of_first, of_start = gradients(
            gates, cells, bent, weight_hh, of_hidden._array, of_cell._array
        )
        flat = of_steps.reshape(-1, of_steps.shape[-1])
        parts: list[Array | None] = [None, of_first, of_start, None, None]
        if needed[0]:
            parts[0] = (flat @ weight_ih).reshape(input.shape)
        if needed[3]:
            parts[3] = flat.T @ input.reshape(-1, input.shape[-1])
        if needed[4]:
            parts[4] = flat.T @ states[:-1].reshape(-1, states.shape[-1])
        if len(tensors) > 5 and any(needed[5:]):
            of_bias = flat.sum(axis=0)
            parts += [of_bias, of_bias.copy()]
        elif len(tensors) > 5:
            parts += [None, None]
        return (None, *(None if part is None else wrap(part) for part in parts))
