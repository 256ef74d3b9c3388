"""All steps of an LSTM or GRU layer on the CPU, compiled where that is built, else with NumPy.

`nn.layer_steps` finds them as `recurrent` of the backend; a device without runs the layer step by
step, with ordinary ops. All forms take and return the same: `gates`, (steps, batch, gates * width),
is the input's share and becomes the gates; states have one step more than there are, the initial
one first. Biases may be None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from retrograd.backend.arrays import Array, DType
from retrograd.backend.cpu import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.quiet import quiet

Many = tuple[Array, ...]


def _cut(gates: Array, count: int) -> Any:
    """Views of the single gates, of one step or of all of them."""
    return np.split(gates, count, axis=-1)


def _sigmoid(x: Array) -> None:
    np.negative(x, x)
    np.exp(x, x)  # of a large number it is inf, and the gate is 0
    np.add(x, 1, x)
    np.reciprocal(x, x)


def _states(gates: Array, first: Array) -> Array:
    found = np.empty((len(gates) + 1, *first.shape), gates.dtype)
    found[0] = first
    return found


def _lstm(
    gates: Array, hidden: Array, cell: Array, weight: Array, bias: Array | None, other: Array | None
) -> Many:
    """The hidden and the cell states."""
    hiddens, cells = _states(gates, hidden), _states(gates, cell)
    if bias is not None and other is not None:
        gates += bias + other
    with quiet():
        for step, gate in enumerate(gates):
            gate += hiddens[step] @ weight.T
            enter, forget, candidate, leave = _cut(gate, 4)
            for each in (enter, forget, leave):
                _sigmoid(each)
            np.tanh(candidate, candidate)
            np.add(forget * cells[step], enter * candidate, cells[step + 1])
            np.multiply(leave, np.tanh(cells[step + 1]), hiddens[step + 1])
    return hiddens, cells


def _lstm_gradients(
    gates: Array, cell: Array, weight: Array, of_hidden: Array, of_cell: Array
) -> Many:
    """Of the input's share of the gates, of the first hidden and of the first cell state."""
    found, back, slope = np.empty_like(gates), np.zeros_like(of_cell), of_cell.copy()
    for step in range(len(gates) - 1, -1, -1):
        enter, forget, candidate, leave = _cut(gates[step], 4)
        bent = np.tanh(cell[step + 1])
        back = back + of_hidden[step]
        slope += back * leave * (1 - bent * bent)
        of_enter, of_forget, of_candidate, of_leave = _cut(found[step], 4)
        np.multiply(slope * candidate, enter * (1 - enter), of_enter)
        np.multiply(slope * cell[step], forget * (1 - forget), of_forget)
        np.multiply(slope * enter, 1 - candidate * candidate, of_candidate)
        np.multiply(back * bent, leave * (1 - leave), of_leave)
        back = found[step] @ weight
        slope *= forget
    return found, back, slope


def _gru(
    gates: Array, hidden: Array, weight: Array, bias: Array | None, other: Array | None
) -> Many:
    """The hidden states, and the hidden state's share of the candidates."""
    hiddens = _states(gates, hidden)
    owns = np.empty((*gates.shape[:2], hidden.shape[1]), gates.dtype)
    if bias is not None:
        gates += bias
    with quiet():
        for step, gate in enumerate(gates):
            share = hiddens[step] @ weight.T
            if other is not None:
                share += other
            reset, update, candidate = _cut(gate, 3)
            of_reset, of_update, owns[step] = _cut(share, 3)
            for each, added in ((reset, of_reset), (update, of_update)):
                each += added
                _sigmoid(each)
            candidate += reset * owns[step]
            np.tanh(candidate, candidate)
            np.add(candidate, update * (hiddens[step] - candidate), hiddens[step + 1])
    return hiddens, owns


def _gru_gradients(
    gates: Array, own: Array, hidden: Array, weight: Array, of_hidden: Array
) -> Many:
    """Of the input's and of the hidden state's share of the gates, and of the first state."""
    found, of_own = np.empty_like(gates), np.empty_like(gates)
    back = np.zeros_like(own[0])
    for step in range(len(gates) - 1, -1, -1):
        reset, update, candidate = _cut(gates[step], 3)
        back = back + of_hidden[step]
        of_reset, of_update, of_candidate = _cut(found[step], 3)
        np.multiply(back * (1 - update), 1 - candidate * candidate, of_candidate)
        np.multiply(of_candidate * own[step], reset * (1 - reset), of_reset)
        np.multiply(back * (hidden[step] - candidate), update * (1 - update), of_update)
        of_own[step] = found[step]
        _cut(of_own[step], 3)[2][...] *= reset
        back = of_own[step] @ weight + back * update
    return found, of_own, back


def _compiled_first(name: str, twin: Callable[..., Many]) -> Callable[..., Many]:
    compiled: Callable[..., Many | None] | None = getattr(rows, name, None)
    if compiled is None:
        return twin

    def run(*arrays: Array | None) -> Many:
        found = compiled(*arrays)
        return twin(*arrays) if found is None else found

    return run


lstm = _compiled_first("lstm", _lstm)
lstm_gradients = _compiled_first("lstm_gradients", _lstm_gradients)
gru = _compiled_first("gru", _gru)
gru_gradients = _compiled_first("gru_gradients", _gru_gradients)


class Layers:
    """What `nn.layer_steps` calls."""

    product = staticmethod(CPU.xp.matmul2d)  # compiled where it can be, and then faster than `@`
    lstm = staticmethod(lstm)
    lstm_gradients = staticmethod(lstm_gradients)
    gru = staticmethod(gru)
    gru_gradients = staticmethod(gru_gradients)

    def takes(self, dtype: DType) -> bool:
        """Whether layers of these elements run at once."""
        return dtype.char in "fd"

    def total(self, x: Array) -> Array:
        """The sum of the rows."""
        found: Array = CPU.xp.sum(x, 0)
        return found


CPU.recurrent = Layers()
