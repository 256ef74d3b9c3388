"""Recurrent cells: one step at a time, driven by the caller's own loop."""

from __future__ import annotations

import math
from typing import Any

from retrograd.dtypes import dtype
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.nn.recurrence import State, run_step
from retrograd.ops.making.creation import empty, zeros
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device


class RNNCellBase(Module):
    """What the cells share: two weights, two biases, how they start and what is printed."""

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((rows, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(empty((rows, hidden_size), device=device, dtype=dtype))
        if bias:
            self.bias_ih = Parameter(empty(rows, device=device, dtype=dtype))
            self.bias_hh = Parameter(empty(rows, device=device, dtype=dtype))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new values: uniform within one over the square root of `hidden_size`."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def _check_input(self, input: Tensor) -> None:
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{self._kind()}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )

    def _check_hidden(self, hidden: Tensor, name: str = "hidden") -> None:
        if hidden.dim() not in (1, 2):
            raise ValueError(
                f"{self._kind()}: Expected {name} to be 1D or 2D, got {hidden.dim()}D instead"
            )

    def _kind(self) -> str:
        """The name of the library's class, also in a subclass of it."""
        raise NotImplementedError

    def _step(self, mode: str, input: Tensor, state: State | None) -> State:
        """One step of `mode`, for a batch or for a single example."""
        single = input.dim() == 1
        if single:
            input = input.unsqueeze(0)
        if state is None:
            start = zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = (start, start) if mode == "LSTM" else (start,)
        elif single:
            state = tuple(one.unsqueeze(0) for one in state)
        self._check_sizes(input, state)
        weights: list[Any] = [self.weight_ih, self.weight_hh]
        if self.bias_ih is not None:
            weights += [self.bias_ih, self.bias_hh]
        state = run_step(mode, input, state, weights)
        return tuple(one.squeeze(0) for one in state) if single else state

    def _check_sizes(self, input: Tensor, state: State) -> None:
        if input.size(1) != self.input_size:
            raise RuntimeError(
                f"input has inconsistent input_size: got {input.size(1)} expected {self.input_size}"
            )
        for number, hidden in enumerate(state):
            if input.size(0) != hidden.size(0):
                raise RuntimeError(
                    f"Input batch size {input.size(0)} doesn't match hidden{number} batch size "
                    f"{hidden.size(0)}"
                )
            if hidden.size(1) != self.hidden_size:
                raise RuntimeError(
                    f"hidden{number} has inconsistent hidden_size: got {hidden.size(1)}, "
                    f"expected {self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """One step of a plain recurrent network, with tanh or relu.

    >>> torch.nn.RNNCell(3, 2)(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _kind(self) -> str:
        return "RNNCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check_input(input)
        if hx is not None:
            self._check_hidden(hx)
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = "RNN_TANH" if self.nonlinearity == "tanh" else "RNN_RELU"
        return self._step(mode, input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory: the new hidden and cell state.

    >>> hidden, cell = torch.nn.LSTMCell(3, 2)(torch.zeros(4, 3))
    >>> hidden.shape, cell.shape
    (torch.Size([4, 2]), torch.Size([4, 2]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def _kind(self) -> str:
        return "LSTMCell"

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        self._check_input(input)
        if hx is not None:
            for number, one in enumerate(hx):
                self._check_hidden(one, f"hx[{number}]")
            hx = _pair(hx, input.dim() == 1)
        hidden, cell = self._step("LSTM", input, hx)
        return hidden, cell


def _pair(hx: tuple[Tensor, ...], single: bool) -> tuple[Tensor, Tensor]:
    """The two states of an LSTM; a batch takes them only from a tuple or list of two."""
    if not single:
        if not isinstance(hx, (tuple, list)):
            raise TypeError(
                "lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not "
                f"{type(hx).__name__}"
            )
        if len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
    return hx[0], hx[1]


class GRUCell(RNNCellBase):
    """One step of a gated recurrent unit.

    >>> torch.nn.GRUCell(3, 2)(torch.zeros(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _kind(self) -> str:
        return "GRUCell"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        self._check_input(input)
        if hx is not None:
            self._check_hidden(hx)
        return self._step("GRU", input, None if hx is None else (hx,))[0]
