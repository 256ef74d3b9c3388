"""All steps of an LSTM layer on the CPU: NumPy calls that write into memory made before the loop.

Other devices run the layer step by step, with ordinary ops; see `nn.lstm_steps`.
"""

from __future__ import annotations

import numpy as np

from retrograd.backend.arrays import Array
from retrograd.backend.quiet import quiet


class Forward:
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


def gradients(
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
