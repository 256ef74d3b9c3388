"""How a recurrent network runs over time: one step of each kind, a layer, a stack of layers.

The part of the gates that depends on the input alone is computed for the whole sequence at once;
each step then costs one matrix product with the hidden state and a few elementwise operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from retrograd.nn import functional
from retrograd.nn.layer_steps import layer_steps, layer_usable, single_step
from retrograd.ops.calling.autocasting_devices import lower_for
from retrograd.ops.registry import RECORDED
from retrograd.tensor import Tensor

State = tuple[Tensor, ...]  # the hidden state; of an LSTM, the hidden and the cell state
Weights = Sequence[Tensor]  # weight_ih, weight_hh[, bias_ih, bias_hh][, weight_hr]


# --------------------------------------------------------------------------------------- cells


class Cell:
    """One layer in one direction: `project` the whole input, `parts` per step, then `step`.

    `parts` cuts projected input along time with the function it is given (unbind or split), so
    that a cell can keep several pieces per step.
    """

    def __init__(self, weights: Weights, bias: bool) -> None:
        self.weight_ih, self.weight_hh = weights[0], weights[1]
        self.bias_ih: Any = weights[2] if bias else None
        self.bias_hh: Any = weights[3] if bias else None

    def project(self, input: Tensor) -> Tensor:
        """The input's share of the gates, with both biases where they simply add up."""
        bias = None if self.bias_ih is None else self.bias_ih + self.bias_hh
        return functional.linear(input, self.weight_ih, bias)

    def parts(self, projected: Tensor, cut: Callable[[Tensor], Sequence[Tensor]]) -> Sequence[Any]:
        """What each step takes of the projected input."""
        return cut(projected)

    def step(self, part: Any, state: State) -> State:
        """The state after one step."""
        raise NotImplementedError


def _as_used(weight: Tensor) -> Tensor:
    """A weight as products with it take it: autocast would cast what is made of it at each step."""
    lower = lower_for((weight,))
    if lower is None:
        return weight
    from retrograd.ops.calling.autocasting import cast

    return cast(weight, lower)


def _runs_lowered(cells: Sequence[Cell], input: Tensor) -> bool:
    """Whether autocast runs the whole of some layers in the lower precision.

    PyTorch has an op for layers of LSTM that are neither projected nor over packed input.
    """
    if lower_for((input,)) is None or not input.numel():
        return False
    return all(isinstance(cell, LSTMCellStep) and cell.weight_hr is None for cell in cells)


class PlainCell(Cell):
    """``h = tanh(W_ih x + b_ih + W_hh h + b_hh)``, or with relu."""

    def __init__(self, weights: Weights, bias: bool, nonlinearity: str) -> None:
        super().__init__(weights, bias)
        self.turned = _as_used(self.weight_hh).t()
        self.nonlinearity = RECORDED.tanh if nonlinearity == "tanh" else RECORDED.relu

    def step(self, part: Tensor, state: State) -> State:
        return (self.nonlinearity(RECORDED.addmm(part, state[0], self.turned)),)


class LSTMCellStep(Cell):
    """Input, forget, candidate and output gates around a cell state."""

    def __init__(self, weights: Weights, bias: bool, projected: bool) -> None:
        super().__init__(weights, bias)
        self.weight_hh = _as_used(self.weight_hh)
        self.turned = self.weight_hh.t()
        self.weight_hr = weights[-1] if projected else None

    def step(self, part: Tensor, state: State) -> State:
        hidden, cell = state
        gates = RECORDED.addmm(part, hidden, self.turned)
        enter, forget, candidate, leave = gates.unsafe_chunk(4, 1)
        kept = forget.sigmoid() * cell
        cell = RECORDED.addcmul(kept, enter.sigmoid(), candidate.tanh())
        hidden = leave.sigmoid() * cell.tanh()
        if self.weight_hr is not None:
            hidden = functional.linear(hidden, self.weight_hr)
        return hidden, cell


class GRUCellStep(Cell):
    """Reset and update gates; the reset gate acts on the hidden share of the candidate."""

    def project(self, input: Tensor) -> Tensor:
        # bias_hh stays with the hidden state: the reset gate multiplies its last third
        return functional.linear(input, self.weight_ih, self.bias_ih)

    def parts(self, projected: Tensor, cut: Callable[[Tensor], Sequence[Tensor]]) -> Sequence[Any]:
        size = projected.shape[-1] // 3
        gates, candidate = projected.unsafe_split_with_sizes([2 * size, size], -1)
        return list(zip(cut(gates), cut(candidate), strict=True))

    def step(self, part: tuple[Tensor, ...], state: State) -> State:
        (hidden,) = state
        gates, candidate = part
        size = hidden.shape[-1]
        own = functional.linear(hidden, self.weight_hh, self.bias_hh)
        own_gates, own_candidate = own.unsafe_split_with_sizes([2 * size, size], 1)
        reset, update = (own_gates + gates).sigmoid().unsafe_chunk(2, 1)
        new = RECORDED.addcmul(candidate, reset, own_candidate).tanh()
        return (RECORDED.addcmul(new, update, hidden - new),)


def make_cell(mode: str, weights: Weights, bias: bool, projected: bool = False) -> Cell:
    """The cell of a mode: RNN_TANH, RNN_RELU, LSTM or GRU."""
    if mode == "LSTM":
        return LSTMCellStep(weights, bias, projected)
    if mode == "GRU":
        return GRUCellStep(weights, bias)
    return PlainCell(weights, bias, "tanh" if mode == "RNN_TANH" else "relu")


def run_step(mode: str, input: Tensor, state: State, weights: Weights) -> State:
    """One step of a cell with these weights, of which there are two or four."""
    if mode in ("LSTM", "GRU"):
        found: State | None = single_step(input, state, weights)
        if found is not None:
            return found
    cell = make_cell(mode, weights, len(weights) == 4)
    (part,) = cell.parts(cell.project(input), lambda whole: [whole])
    return cell.step(part, state)


# ------------------------------------------------------------------------------ over the steps


def _run_padded(cell: Cell, input: Tensor, state: State, reverse: bool) -> tuple[Tensor, State]:
    """Over a tensor whose first dimension is time."""
    gated = isinstance(cell, GRUCellStep | LSTMCellStep)
    if gated and getattr(cell, "weight_hr", None) is None and lower_for((input,)) is None:
        found = _run_at_once(cell, input, state, reverse)
        if found is not None:
            return found
    return _run_parts(cell, input, state, reverse)


def _run_at_once(
    cell: Cell, input: Tensor, state: State, reverse: bool
) -> tuple[Tensor, State] | None:
    """A layer of LSTM or GRU as one node; None where it takes the ordinary operations."""
    weights = [cell.weight_ih, cell.weight_hh]
    if cell.bias_ih is not None:
        weights += [cell.bias_ih, cell.bias_hh]
    if not layer_usable(input, state, weights):
        return None
    if len(input._array) == 1 and input.dtype.itemsize > 2:  # a step is no op of half precision
        found = single_step(input.select(0, 0), state, weights)
        return None if found is None else (found[0].unsqueeze(0), found)

    def step_by_step(input: Tensor, *tensors: Tensor) -> tuple[Tensor, ...]:
        first, own = tensors[: len(state)], tensors[len(state) :]
        again = make_cell("LSTM" if len(first) == 2 else "GRU", own, len(own) > 2)
        output, (_, *last) = _run_parts(again, input, first, False)
        return output, *last

    if reverse:
        input = input.flip(0)
    output, *last = layer_steps(input, state, weights, step_by_step)
    final = output.select(0, -1), *last
    return (output.flip(0) if reverse else output), final


def _run_parts(cell: Cell, input: Tensor, state: State, reverse: bool) -> tuple[Tensor, State]:
    """Step by step, with the ordinary operations."""
    parts = cell.parts(cell.project(input), lambda whole: whole.unbind(0))
    outputs = []
    for part in reversed(parts) if reverse else parts:
        state = cell.step(part, state)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return RECORDED.stack(outputs), state


def _run_packed(
    cell: Cell, data: Tensor, state: State, reverse: bool, batch_sizes: list[int]
) -> tuple[Tensor, State]:
    """Over packed data: at each time, the sequences that are long enough, longest first."""
    parts = cell.parts(cell.project(data), lambda whole: whole.split_with_sizes(batch_sizes))
    if reverse:
        outputs, state = _grow(cell, parts, state, batch_sizes)
    else:
        outputs, state = _shrink(cell, parts, state, batch_sizes)
    return RECORDED.cat(outputs), state


def _shrink(
    cell: Cell, parts: Sequence[object], state: State, batch_sizes: list[int]
) -> tuple[list[Tensor], State]:
    """Forward in time sequences end one after the other; the states of those are put aside."""
    outputs: list[Tensor] = []
    ended: list[State] = []
    active = batch_sizes[0]
    for part, size in zip(parts, batch_sizes, strict=True):
        if size < active:
            count = active - size
            ended.append(tuple(one.narrow(0, size, count) for one in state))
            state = tuple(one.narrow(0, 0, size) for one in state)
            active = size
        state = cell.step(part, state)
        outputs.append(state[0])
    ended.append(state)
    last: State = tuple(RECORDED.cat(list(many)) for many in zip(*reversed(ended), strict=True))
    return outputs, last


def _grow(
    cell: Cell, parts: Sequence[object], initial: State, batch_sizes: list[int]
) -> tuple[list[Tensor], State]:
    """Backward in time sequences join one after the other, each with its initial state."""
    outputs: list[Tensor] = []
    active = batch_sizes[-1]
    state: State = tuple(one.narrow(0, 0, active) for one in initial)
    for part, size in zip(reversed(parts), reversed(batch_sizes), strict=True):
        if size > active:
            joining = [one.narrow(0, active, size - active) for one in initial]
            state = tuple(RECORDED.cat([old, new]) for old, new in zip(state, joining, strict=True))
            active = size
        state = cell.step(part, state)
        outputs.append(state[0])
    outputs.reverse()
    return outputs, state


def run_layers(
    cells: Sequence[Cell],
    input: Tensor,
    initial: State,
    *,
    bidirectional: bool,
    dropout: float,
    batch_sizes: list[int] | None,
) -> tuple[Tensor, State]:
    """All layers over time-first or packed input; `cells` layer by layer, forward before reverse.

    `initial` holds one tensor per kind of state, its first dimension counting the cells; so does
    the final state that comes back with the last layer's output.
    """
    if batch_sizes is None and _runs_lowered(cells, input):
        from retrograd.ops.calling.autocasting import run_lowered

        for cell in cells:
            cell.weight_ih = _as_used(cell.weight_ih)
            if cell.bias_ih is not None:
                cell.bias_ih, cell.bias_hh = _as_used(cell.bias_ih), _as_used(cell.bias_hh)
        options = {"bidirectional": bidirectional, "dropout": dropout, "batch_sizes": None}
        run = partial(run_layers, cells, **options)  # type: ignore[arg-type]
        return run_lowered(run, input, initial)  # type: ignore[no-any-return]
    states = list(zip(*(one.unbind(0) for one in initial), strict=True))
    directions = 2 if bidirectional else 1
    finals: list[State] = []
    for start in range(0, len(cells), directions):
        outputs = []
        for direction in range(directions):
            cell, state = cells[start + direction], states[start + direction]
            if batch_sizes is None:
                output, final = _run_padded(cell, input, state, direction == 1)
            else:
                output, final = _run_packed(cell, input, state, direction == 1, batch_sizes)
            outputs.append(output)
            finals.append(final)
        input = RECORDED.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and start + directions < len(cells):
            input = functional.dropout(input, dropout)
    return input, tuple(RECORDED.stack(list(many)) for many in zip(*finals, strict=True))
