"""One step of an LSTM or GRU as a single op, for the cells and for layers of one step.

Both give out more than the new state: the gates, and of a GRU the hidden state's share of the
candidate. Nobody outside sees these, but they carry a gradient like any result: so the rules can
be written with them alone, and are right in every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backend import CPU
from retrograd.backend.cpu_rows import compiled_first, rows
from retrograd.ops.kinds import Array, Gradients, Namespace
from retrograd.ops.registry import RECORDED, Table, op, table_entry
from retrograd.tensor import Tensor

Many = tuple[Array, ...]


def _cut(m: Table, gates: Tensor, count: int) -> list[Tensor]:
    width = gates.shape[1] // count
    return [m.slice(gates, 1, start * width, (start + 1) * width, 1) for start in range(count)]


def _plus(part: Any, more: Any) -> Any:
    """A gradient, and what else came for the same result if something did."""
    return part if more is None else part + more


def _bell(x: Any) -> Any:
    """The slope of the sigmoid, from its value."""
    return x * (1 - x)


def _of_operands(
    product: Callable[[Any, Any], Any],
    total: Callable[[Any], Any],
    needs: Sequence[bool],
    operands: Sequence[Any],
    shares: tuple[Any, Any],
) -> tuple[list[Any], list[Any]]:
    """The gradients of input and hidden state, and of weights and biases, from the shares'."""
    input, hidden, weight_ih, weight_hh = operands
    of_gates, of_own = shares
    states = [
        product(of_gates, weight_ih) if needs[0] else None,
        product(of_own, weight_hh) if needs[1] else None,
    ]
    weights = [
        product(of_gates.T, input) if needs[-4] else None,
        product(of_own.T, hidden) if needs[-3] else None,
        total(of_gates) if needs[-2] else None,
        total(of_own) if needs[-1] else None,
    ]
    return states, weights


def _by_ops(m: Table) -> tuple[Callable[[Any, Any], Any], Callable[[Any], Any]]:
    return m.mm, lambda x: m.sum(x, (0,), False)


def _compiled_sum(x: Array) -> Array:
    found: Array = CPU.xp.sum(x, 0)
    return found


# ---------------------------------------------------------------------------------------- LSTM


def _lstm_step_gradients(
    m: Table,
    g: Sequence[Tensor | None],
    needs: tuple[bool, ...],
    input: Tensor,
    hidden: Tensor,
    cell: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    next_cell: Tensor,
    gates: Tensor,
) -> Gradients:
    enter, forget, candidate, leave = _cut(m, gates, 4)
    of_hidden, of_cell = (m.zeros_like(cell) if one is None else one for one in g[:2])
    bent = m.tanh(next_cell)
    slope = of_cell + of_hidden * leave * (1 - bent * bent)
    parts = [slope * candidate, slope * cell, slope * enter, of_hidden * bent]
    slopes = [_bell(enter), _bell(forget), 1 - candidate * candidate, _bell(leave)]
    share = _plus(m.cat(parts, 1), g[2]) * m.cat(slopes, 1)
    operands = (input, hidden, weight_ih, weight_hh)
    states, weights = _of_operands(*_by_ops(m), needs, operands, (share, share))
    return (*states, slope * forget if needs[2] else None, *weights)


def _compiled_lstm_step_gradients(
    g: Sequence[Array | None],
    needs: tuple[bool, ...],
    input: Array,
    hidden: Array,
    cell: Array,
    weight_ih: Array,
    weight_hh: Array,
    next_cell: Array,
    gates: Array,
) -> Gradients | None:
    found = None
    if g[2] is None:
        found = rows.lstm_step_gradients(gates, cell, next_cell, g[0], g[1])
    if found is None:
        return None
    share, of_cell = found
    operands = (input, hidden, weight_ih, weight_hh)
    product = CPU.xp.matmul2d
    states, weights = _of_operands(product, _compiled_sum, needs, operands, (share, share))
    return (*states, of_cell, *weights)


def _recorded_lstm_step_gradients(*facts: Any) -> Gradients:
    return _lstm_step_gradients(RECORDED, *facts)


table_entry(
    "_lstm_step_gradients",
    lambda xp, *facts: _lstm_step_gradients(xp.raw, *facts),
    _recorded_lstm_step_gradients,
)
compiled_first("_lstm_step_gradients", _compiled_lstm_step_gradients)


@op(
    gradients=lambda m, g, needs, input, hidden, cell, weight_ih, weight_hh, out1, out2: (
        m._lstm_step_gradients(g, needs, input, hidden, cell, weight_ih, weight_hh, out1, out2)
    ),
    differentiable=(*("input", "hidden", "cell", "weight_ih", "weight_hh", "bias_ih", "bias_hh"),),
    outputs=3,
    node_name="ThnnFusedLstmCellBackward0",
    aten="_thnn_fused_lstm_cell",
    event="retrograd::lstm_step",
)
def _lstm_step(
    xp: Namespace,
    input: Array,
    hidden: Array,
    cell: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
) -> Many:
    """The new hidden and cell state, and the gates."""
    gates = xp.matmul2d(input, weight_ih.T) + xp.matmul2d(hidden, weight_hh.T)
    if bias_ih is not None and bias_hh is not None:
        gates = gates + (bias_ih + bias_hh)
    width = hidden.shape[1]
    enter, forget, candidate, leave = (gates[:, k * width : (k + 1) * width] for k in range(4))
    enter, forget, leave = (xp.expit(gate) for gate in (enter, forget, leave))
    candidate = xp.tanh(candidate)
    new = forget * cell + enter * candidate
    return leave * xp.tanh(new), new, xp.concatenate((enter, forget, candidate, leave), axis=1)


def _compiled_lstm_step(
    input: Array,
    hidden: Array,
    cell: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
) -> Many | None:
    product = CPU.xp.matmul2d
    gates = product(input, weight_ih.T)
    found = rows.lstm_step(gates, product(hidden, weight_hh.T), cell, bias_ih, bias_hh)
    return None if found is None else (*found, gates)


compiled_first("_lstm_step", _compiled_lstm_step)


# ----------------------------------------------------------------------------------------- GRU


def _gru_step_gradients(
    m: Table,
    g: Sequence[Tensor | None],
    needs: tuple[bool, ...],
    input: Tensor,
    hidden: Tensor,
    weight_ih: Tensor,
    weight_hh: Tensor,
    gates: Tensor,
    own: Tensor,
) -> Gradients:
    reset, update, candidate = _cut(m, gates, 3)
    of_hidden: Any = m.zeros_like(own) if g[0] is None else g[0]
    more: Any = (None, None, None) if g[1] is None else _cut(m, g[1], 3)
    of_candidate = _plus(of_hidden * (1 - update), more[2]) * (1 - candidate * candidate)
    of_reset = _plus(of_candidate * own, more[0]) * _bell(reset)
    of_update = _plus(of_hidden * (hidden - candidate), more[1]) * _bell(update)
    shares = (
        m.cat([of_reset, of_update, of_candidate], 1),
        m.cat([of_reset, of_update, _plus(of_candidate * reset, g[2])], 1),
    )
    operands = (input, hidden, weight_ih, weight_hh)
    states, weights = _of_operands(*_by_ops(m), needs, operands, shares)
    if states[1] is not None:
        states[1] = states[1] + of_hidden * update
    return (*states, *weights)


def _compiled_gru_step_gradients(
    g: Sequence[Array | None],
    needs: tuple[bool, ...],
    input: Array,
    hidden: Array,
    weight_ih: Array,
    weight_hh: Array,
    gates: Array,
    own: Array,
) -> Gradients | None:
    found = None
    if g[1] is None and g[2] is None:
        found = rows.gru_step_gradients(gates, own, hidden, g[0])
    if found is None:
        return None
    *shares, past = found
    operands = (input, hidden, weight_ih, weight_hh)
    product = CPU.xp.matmul2d
    states, weights = _of_operands(product, _compiled_sum, needs, operands, (shares[0], shares[1]))
    if states[1] is not None:
        states[1] += past
    return (*states, *weights)


def _recorded_gru_step_gradients(*facts: Any) -> Gradients:
    return _gru_step_gradients(RECORDED, *facts)


table_entry(
    "_gru_step_gradients",
    lambda xp, *facts: _gru_step_gradients(xp.raw, *facts),
    _recorded_gru_step_gradients,
)
compiled_first("_gru_step_gradients", _compiled_gru_step_gradients)


@op(
    gradients=lambda m, g, needs, input, hidden, weight_ih, weight_hh, out1, out2: (
        m._gru_step_gradients(g, needs, input, hidden, weight_ih, weight_hh, out1, out2)
    ),
    differentiable=("input", "hidden", "weight_ih", "weight_hh", "bias_ih", "bias_hh"),
    outputs=3,
    node_name="ThnnFusedGruCellBackward0",
    aten="_thnn_fused_gru_cell",
    event="retrograd::gru_step",
)
def _gru_step(
    xp: Namespace,
    input: Array,
    hidden: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
) -> Many:
    """The new hidden state, the gates, and the hidden state's share of the candidate."""
    gates, share = xp.matmul2d(input, weight_ih.T), xp.matmul2d(hidden, weight_hh.T)
    if bias_ih is not None and bias_hh is not None:
        gates, share = gates + bias_ih, share + bias_hh
    width = hidden.shape[1]
    own = share[:, 2 * width :]
    reset = xp.expit(gates[:, :width] + share[:, :width])
    update = xp.expit(gates[:, width : 2 * width] + share[:, width : 2 * width])
    candidate = xp.tanh(gates[:, 2 * width :] + reset * own)
    new = candidate + update * (hidden - candidate)
    return new, xp.concatenate((reset, update, candidate), axis=1), own.copy()


def _compiled_gru_step(
    input: Array,
    hidden: Array,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
) -> Many | None:
    product = CPU.xp.matmul2d
    gates = product(input, weight_ih.T)
    found = rows.gru_step(gates, product(hidden, weight_hh.T), hidden, bias_ih, bias_hh)
    return None if found is None else (found[0], gates, found[1])


compiled_first("_gru_step", _compiled_gru_step)
