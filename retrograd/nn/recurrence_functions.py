"""The recurrent networks as functions: `torch.lstm`, `torch.gru` and their single steps.

They take all weights as arguments. The layers `nn.LSTM` and so on are the comfortable form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from retrograd.nn.recurrence import State, make_cell, run_layers, run_step
from retrograd.notices import runtime_error
from retrograd.ops.registry import function_only
from retrograd.samples import Sample, T
from retrograd.tensor import Tensor


def _cells(
    mode: str, params: Sequence[Tensor], has_biases: bool, count: int, projected: bool
) -> list[Any]:
    each = 2 + 2 * has_biases + projected
    if len(params) % each:
        raise RuntimeError(f"MatrixRef: ArrayRef size {len(params)} not divisible by stride {each}")
    if len(params) < each * count:
        raise RuntimeError(
            f"{len(params)} weights are too few for {count} layers and directions of {each} each"
        )
    parts = (params[start : start + each] for start in range(0, each * count, each))
    return [make_cell(mode, part, has_biases, projected) for part in parts]


def _check_state(state: Tensor, weight: Tensor, count: int, both: bool, batch: int | None) -> None:
    """Refuse states of more or fewer layers, of another size, or of another batch."""
    given = state.size(0) if state.ndim else 0
    if both and given % 2:
        raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
    if given != count:
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    *lead, size = state.shape[1:] or (1,)
    if size != weight.size(1):
        raise runtime_error(
            f"mat1 and mat2 shapes cannot be multiplied ({math.prod(lead)}x{size} and "
            f"{weight.size(1)}x{weight.size(0)})",
            code="RG202",
        )
    if len(lead) != 1:
        raise RuntimeError(f"hidden states have 3 dimensions, not {state.ndim}")
    if batch is not None and lead[0] != batch:
        raise runtime_error(
            f"The size of tensor a ({lead[0]}) must match the size of tensor b ({batch}) at "
            "non-singleton dimension 0",
            code="RG201",
        )


def _over_time(mode: str, states: Sequence[Tensor], args: tuple[Any, ...]) -> tuple[Tensor, State]:
    """A stack of layers; `args` are those of the padded or of the packed form, without states."""
    packed = len(args) == 8 and isinstance(args[1], Tensor)
    if packed:
        input, batch_sizes, params, biases, layers, dropout, train, both = args
        batch_first = False
    else:
        input, params, biases, layers, dropout, train, both, batch_first = args
    count = layers * (2 if both else 1)
    projected = mode == "LSTM" and states[0].size(2) != states[1].size(2)
    cells = _cells(mode, params, biases, count, projected)
    if mode != "LSTM":
        batch = None if packed or input.ndim != 3 else input.size(0 if batch_first else 1)
        _check_state(states[0], params[1], count, both, batch)
    output, final = run_layers(
        cells,
        input.transpose(0, 1) if batch_first else input,
        tuple(states),
        bidirectional=both,
        dropout=dropout if train else 0.0,
        batch_sizes=batch_sizes.tolist() if packed else None,
    )
    return (output.transpose(0, 1) if batch_first else output), final


def _with_one_state(mode: str, args: tuple[Any, ...]) -> tuple[Tensor, Tensor]:
    """`args` of GRU and plain networks: input, hx, ... or data, batch_sizes, hx, ..."""
    place = 2 if isinstance(args[2], Tensor) else 1
    output, (final,) = _over_time(mode, [args[place]], (*args[:place], *args[place + 1 :]))
    return output, final


def _weights(gates: int, features: int, size: int) -> list[T]:
    rows = gates * size
    return [T(rows, features), T(rows, size), T(rows), T(rows)]


def _samples(gates: int) -> list[Sample]:
    one = _weights(gates, 3, 2)
    turned = [*one, *_weights(gates, 3, 2)]

    def hx(cells: int) -> list[T] | T:
        return [T(cells, 2, 2), T(cells, 2, 2)] if gates == 4 else T(cells, 2, 2)

    return [
        Sample(T(4, 2, 3), hx(1), one, True, 1, 0.0, False, False, False),
        Sample(T(2, 4, 3), hx(1), one, True, 1, 0.0, True, False, True),
        Sample(T(4, 2, 3), hx(1), one[:2], False, 1, 0.0, False, False, False),
        Sample(T(4, 2, 3), hx(2), turned, True, 1, 0.0, False, True, False),
    ]


@function_only(samples=lambda: _samples(4))
def lstm(*args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of LSTM layers over time: the output, the last hidden and the last cell states.

    The arguments are ``input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
    batch_first``, or for packed sequences ``data, batch_sizes, hx, params, has_biases, num_layers,
    dropout, train, bidirectional``.

    >>> layer, state = torch.nn.LSTM(3, 2), torch.zeros(1, 4, 2)
    >>> weights = list(layer.parameters())
    >>> output, h, c = torch.lstm(
    ...     torch.zeros(5, 4, 3), [state, state], weights, True, 1, 0.0, True, False, False
    ... )
    >>> output.shape
    torch.Size([5, 4, 2])
    """
    place = 2 if isinstance(args[1], Tensor) else 1
    states = args[place]
    if len(states) != 2:
        raise RuntimeError("lstm expects two hidden states")
    output, (hidden, cell) = _over_time("LSTM", states, (*args[:place], *args[place + 1 :]))
    return output, hidden, cell


@function_only(samples=lambda: _samples(3))
def gru(*args: Any) -> tuple[Tensor, Tensor]:
    """A stack of GRU layers over time; the arguments are those of `lstm`, with one state."""
    return _with_one_state("GRU", args)


@function_only(samples=lambda: _samples(1))
def rnn_tanh(*args: Any) -> tuple[Tensor, Tensor]:
    """A stack of plain recurrent layers with tanh; the arguments are those of `gru`."""
    return _with_one_state("RNN_TANH", args)


@function_only(samples=lambda: _samples(1))
def rnn_relu(*args: Any) -> tuple[Tensor, Tensor]:
    """A stack of plain recurrent layers with relu; the arguments are those of `gru`."""
    return _with_one_state("RNN_RELU", args)


# ----------------------------------------------------------------------------------- one step


def _step(
    mode: str,
    input: Tensor,
    state: State,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> State:
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(
            f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}"
        )
    for number, hidden in enumerate(state):
        if input.size(0) != hidden.size(0):
            raise RuntimeError(
                f"Input batch size {input.size(0)} doesn't match hidden{number} batch size "
                f"{hidden.size(0)}"
            )
        if hidden.size(1) != w_hh.size(1):
            raise RuntimeError(
                f"hidden{number} has inconsistent hidden_size: got {hidden.size(1)}, expected "
                f"{w_hh.size(1)}"
            )
    weights: list[Any] = [w_ih, w_hh]
    if b_ih is not None or b_hh is not None:
        empty = w_ih.new_zeros(w_ih.size(0))
        weights += [empty if bias is None else bias for bias in (b_ih, b_hh)]
    return run_step(mode, input, state, weights)


def _step_samples(gates: int) -> list[Sample]:
    one = _weights(gates, 3, 2)
    hx: object = [T(4, 2), T(4, 2)] if gates == 4 else T(4, 2)
    short: object = [T(3, 2), T(3, 2)] if gates == 4 else T(3, 2)
    return [
        Sample(T(4, 3), hx, *one),
        Sample(T(4, 3), hx, *one[:2]),
        Sample(T(4, 5), hx, *one, dtypes=("float32",)),
        Sample(T(4, 3), short, *one, dtypes=("float32",)),
    ]


@function_only(samples=lambda: _step_samples(4))
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the new hidden and cell state."""
    if not isinstance(hx, (tuple, list)):
        raise TypeError(
            "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not "
            f"{type(hx).__name__}"
        )
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    hidden, cell = _step("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)
    return hidden, cell


@function_only(samples=lambda: _step_samples(3))
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a gated recurrent unit: the new hidden state."""
    return _step("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@function_only(samples=lambda: _step_samples(1))
def rnn_tanh_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network with tanh: the new hidden state."""
    return _step("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@function_only(samples=lambda: _step_samples(1))
def rnn_relu_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a plain recurrent network with relu: the new hidden state."""
    return _step("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]
