"""The steps of an LSTM layer as one node of the graph, for the usual case.

Step by step, an LSTM costs about ten small operations each with a node of its own. Here one
`Function` runs all steps of a layer on arrays: what does not depend on the state before is computed
for all steps at once, in the forward pass as in the backward pass. A gradient that shall itself be
differentiable is taken from the ordinary operations of `recurrence`, which are run again for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from retrograd.autograd import api
from retrograd.autograd.function import Function
from retrograd.autograd.state import HOT, STATE
from retrograd.backend.quiet import quiet
from retrograd.tensor import Array, Tensor, wrap

StepByStep = Callable[..., tuple[Tensor, Tensor]]


def usable(*tensors: Tensor) -> bool:
    """Whether the layer's tensors are plain ones of one float type, and nothing watches ops."""
    kind = tensors[0]._array.dtype
    if HOT["UNUSUAL"] or STATE.transforms or kind.char not in "fd":
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
    run = _Forward(*(t._array for t in (input, hidden, cell, *weights)))
    return wrap(run.hidden[1:]), wrap(run.cell[-1])


class LSTMSteps(Function):
    """All steps of one layer in one direction."""

    @staticmethod
    def forward(ctx: Any, step_by_step: StepByStep, *tensors: Tensor) -> tuple[Tensor, Tensor]:
        """See `lstm_steps`."""
        run = _Forward(*(tensor._array for tensor in tensors))
        ctx.step_by_step = step_by_step
        # what the backward pass needs; the states are one array with the initial ones before them
        computed = (run.gates, run.hidden, run.cell, run.bent)
        ctx.save_for_backward(*tensors, *(wrap(array) for array in computed))
        return wrap(run.hidden[1:]), wrap(run.cell[-1].copy())

    @staticmethod
    def backward(ctx: Any, of_hidden: Tensor, of_cell: Tensor) -> Any:
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
        of_steps, of_first, of_start = _backward(
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


class _Forward:
    """The states of all steps: index 0 holds the initial ones."""

    def __init__(
        self,
        input: Array,
        hidden: Array,
        cell: Array,
        weight_ih: Array,
        weight_hh: Array,
        bias_ih: Array | None = None,
        bias_hh: Array | None = None,
    ) -> None:
        steps, batch, _ = input.shape
        gates = len(weight_ih)
        projected = (input.reshape(steps * batch, -1) @ weight_ih.T).reshape(steps, batch, gates)
        if bias_ih is not None and bias_hh is not None:
            projected += bias_ih + bias_hh
        width = gates // 4
        kind = projected.dtype
        self.hidden = np.empty((steps + 1, batch, width), kind)
        self.cell = np.empty((steps + 1, batch, width), kind)
        self.bent = np.empty((steps, batch, width), kind)  # tanh of the cell states
        self.hidden[0], self.cell[0] = hidden, cell
        # the three sigmoids side by side, their arguments negated: input, forget, output, candidate
        self.gates = np.empty((steps, batch, gates), kind)
        order = self.gates
        np.negative(projected[..., : 2 * width], out=order[..., : 2 * width])
        np.negative(projected[..., 3 * width :], out=order[..., 2 * width : 3 * width])
        order[..., 3 * width :] = projected[..., 2 * width : 3 * width]
        turned = np.empty((width, gates), kind)
        turned[:, : 2 * width] = -weight_hh[: 2 * width].T
        turned[:, 2 * width : 3 * width] = -weight_hh[3 * width :].T
        turned[:, 3 * width :] = weight_hh[2 * width : 3 * width].T
        share = np.empty((batch, gates), kind)
        entered = np.empty((batch, width), kind)
        with quiet():  # exp of a large number is inf, and the gate is 0
            for step in range(steps):
                gate, after = self.gates[step], self.cell[step + 1]
                np.matmul(self.hidden[step], turned, share)
                np.add(gate, share, gate)
                opened, candidate = gate[:, : 3 * width], gate[:, 3 * width :]
                np.exp(opened, opened)
                np.add(opened, 1, opened)
                np.reciprocal(opened, opened)
                np.tanh(candidate, candidate)
                np.multiply(gate[:, width : 2 * width], self.cell[step], after)
                np.multiply(gate[:, :width], candidate, entered)
                np.add(after, entered, after)
                np.tanh(after, self.bent[step])
                np.multiply(gate[:, 2 * width : 3 * width], self.bent[step], self.hidden[step + 1])


def _backward(
    gates: Array,
    cell: Array,
    bent: Array,
    weight: Array,
    of_hidden: Array,
    of_cell: Array,
) -> tuple[Array, Array, Array]:
    """The gradients of the projected input, of the first hidden and of the first cell state."""
    steps, batch, width = bent.shape
    enter, forget = gates[..., :width], gates[..., width : 2 * width]
    leave, candidate = gates[..., 2 * width : 3 * width], gates[..., 3 * width :]
    # How each gate's argument acts on the cell state, in the order of the weights: for all steps.
    acts = np.empty((steps, batch, 3, width), bent.dtype)
    np.multiply(enter * (1 - enter), candidate, out=acts[:, :, 0])
    np.multiply(forget * (1 - forget), cell[:-1], out=acts[:, :, 1])
    np.multiply(enter, 1 - candidate * candidate, out=acts[:, :, 2])
    through_leave = leave * (1 - leave) * bent
    through_cell = leave * (1 - bent * bent)
    found = np.empty((steps, batch, 4 * width), bent.dtype)
    parts = found.reshape(steps, batch, 4, width)
    slope = of_cell.astype(bent.dtype)  # of the cell state; written to below
    back = np.zeros((batch, width), bent.dtype)  # of the hidden state, from the step after
    product = np.empty_like(back)
    forgotten = np.ascontiguousarray(forget)
    for step in range(steps - 1, -1, -1):
        np.add(back, of_hidden[step], back)
        np.multiply(back, through_cell[step], product)
        np.add(slope, product, slope)
        np.multiply(acts[step], slope[:, None, :], parts[step, :, :3])
        np.multiply(back, through_leave[step], parts[step, :, 3])
        np.matmul(found[step], weight, back)
        np.multiply(slope, forgotten[step], slope)
    return found, back, slope
