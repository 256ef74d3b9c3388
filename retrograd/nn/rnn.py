"""Recurrent networks over whole sequences: RNN, LSTM and GRU."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from retrograd.backend import apart
from retrograd.dtypes import dtype
from retrograd.lifecycle.site import user_level
from retrograd.nn import init
from retrograd.nn.module import Module
from retrograd.nn.parameter import Parameter
from retrograd.nn.recurrence import State, make_cell, run_layers
from retrograd.nn.utils.rnn import PackedSequence
from retrograd.notices import explained
from retrograd.ops.calling.autocasting_devices import lower_for
from retrograd.ops.making.creation import empty, zeros
from retrograd.tensor import Tensor
from retrograd.tensor.size import Device

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What RNN, LSTM and GRU share: arguments, weights, checks, and the run over the layers."""

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.dropout = float(dropout)
        _check_dropout(dropout, num_layers)
        _check_arguments(input_size, hidden_size, num_layers, bias, batch_first, proj_size)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                shapes = self._weight_shapes(layer)
                names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
                for name, shape in zip(names, shapes.values(), strict=True):
                    setattr(self, name, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _weight_shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The weights of one direction of a layer, in the order of the parameters."""
        rows = _GATES[self.mode] * self.hidden_size
        columns = self.input_size if layer == 0 else self._output_size() * self._directions()
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (rows, columns),
            "weight_hh": (rows, self._output_size()),
        }
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _output_size(self) -> int:
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def reset_parameters(self) -> None:
        """Draw new values: uniform within one over the square root of `hidden_size`."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: PyTorch moves weights together in a GPU's memory, and there is none here."""

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Tensor | None]:
        return [getattr(self, name, None) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        # Libraries that replace parameters by other tensors write this list too, with the tensors
        # that they have put under the names; any other would be one that `forward` does not use.
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if getattr(self, name, None) is not weight:
                raise RuntimeError(f"_flat_weights: set the attribute {name!r} instead")

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, one list for each direction of each layer."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    # ---------------------------------------------------------------------------------- checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """The input's dtype, number of dimensions and last size."""
        wanted = getattr(self, self._all_weights[0][0]).dtype
        if input.dtype != wanted and lower_for((input,)) is None:
            raise explained(
                ValueError(
                    f"RNN input dtype ({input.dtype}) does not match weight dtype ({wanted}). "
                    f"Convert input: input.to({wanted}), or convert model: model.to({input.dtype})"
                ),
                code="RG301",
            )
        weight = getattr(self, self._all_weights[0][0])
        if apart(input._array, weight._array):
            raise explained(
                RuntimeError(
                    "Input and parameter tensors are not at the same device, found input tensor "
                    f"at {input.device} and parameter tensor at {weight.device}"
                ),
                code="RG308",
            )
        dimensions = 2 if batch_sizes is not None else 3
        if input.dim() != dimensions:
            raise RuntimeError(f"input must have {dimensions} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.size(-1)}"
            )

    def _batch_size(self, input: Tensor, batch_sizes: Tensor | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the hidden state that belongs to an input."""
        count = self.num_layers * self._directions()
        return count, self._batch_size(input, batch_sizes), self._output_size()

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise unless the hidden state has this shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Whether input and hidden state fit the layer and each other."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Tensor:
        """The hidden state with its batch in another order."""
        return hx if permutation is None else hx.index_select(1, permutation)

    # ------------------------------------------------------------------------------------- run

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> Tensor:
        shape = (self.num_layers * self._directions(), self._batch_size(input, batch_sizes), size)
        return zeros(shape, dtype=input.dtype, device=input.device)

    def _run(self, input: Tensor, state: State, batch_sizes: Tensor | None) -> tuple[Tensor, State]:
        """Output and final state of all layers, for batched or packed input."""
        if batch_sizes is None:
            if self.batch_first:
                input = input.transpose(0, 1)
            if input.size(0) == 0:
                raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        cells = [
            make_cell(self.mode, weights, self.bias, self.proj_size > 0)
            for weights in self.all_weights
        ]
        output, final = run_layers(
            cells,
            input,
            state,
            bidirectional=self.bidirectional,
            dropout=self.dropout if self.training else 0.0,
            batch_sizes=None if batch_sizes is None else batch_sizes.tolist(),
        )
        if batch_sizes is None and self.batch_first:
            output = output.transpose(0, 1)
        return output, final

    def _one_state_forward(
        self, kind: str, noun: str, input: Tensor | PackedSequence, hx: Any
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        """The forward of RNN and GRU: everything but the name in one error is the same."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            if hx is None:
                hx = self._zero_state(data, batch_sizes, self.hidden_size)
            else:
                hx = self.permute_hidden(hx, order)
            self.check_forward_args(data, hx, batch_sizes)
            output, (final,) = self._run(data, (hx,), batch_sizes)
            packed = PackedSequence(output, batch_sizes, order, back)
            return packed, self.permute_hidden(final, back)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{kind}: Expected input to be 2D or 3D, got {input.dim()}D {noun}instead"
            )
        single = input.dim() == 2
        if hx is not None and hx.dim() != input.dim():
            word = "unbatched" if single else "batched"
            raise RuntimeError(
                f"For {word} {input.dim()}-D input, hx should also be {input.dim()}-D but got "
                f"{hx.dim()}-D tensor"
            )
        batch_dim = 0 if self.batch_first else 1
        if single:
            input = input.unsqueeze(batch_dim)
            hx = None if hx is None else hx.unsqueeze(1)
        if hx is None:
            hx = self._zero_state(input, None, self.hidden_size)
        self.check_forward_args(input, hx, None)
        output, (final,) = self._run(input, (hx,), None)
        if single:
            return output.squeeze(batch_dim), final.squeeze(1)
        return output, final


def _check_dropout(dropout: object, num_layers: int) -> None:
    if (
        not isinstance(dropout, numbers.Number)
        or isinstance(dropout, bool)
        or not 0 <= dropout <= 1  # type: ignore[operator]
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an "
            "element being zeroed"
        )
    if dropout > 0 and num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and "
            f"num_layers={num_layers}",
            stacklevel=user_level(),
        )


def _check_arguments(
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: bool,
    batch_first: bool,
    proj_size: int,
) -> None:
    """Types and ranges, in the order in which PyTorch looks at them."""
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


class RNN(RNNBase):
    """A plain recurrent network, with tanh or relu.

    Arguments: ``input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True,
    batch_first=False, dropout=0.0, bidirectional=False, device=None, dtype=None``.

    >>> output, final = torch.nn.RNN(3, 2)(torch.zeros(5, 4, 3))
    >>> output.shape, final.shape
    (torch.Size([5, 4, 2]), torch.Size([1, 4, 2]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)
        self.nonlinearity: str = nonlinearity

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        return self._one_state_forward("RNN", "tensor ", input, hx)


class GRU(RNNBase):
    """Gated recurrent units.

    Arguments: ``input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None``.

    >>> output, final = torch.nn.GRU(3, 2, bidirectional=True)(torch.zeros(5, 4, 3))
    >>> output.shape, final.shape
    (torch.Size([5, 4, 4]), torch.Size([2, 4, 2]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        return self._one_state_forward("GRU", "", input, hx)


def _refuse_projection(kwargs: dict[str, object]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


def _check_pair(hx: tuple[Tensor, ...]) -> None:
    """The states of an LSTM come in a tuple or list of two, not as one tensor cut in two."""
    if not isinstance(hx, (tuple, list)):
        raise TypeError(
            "lstm() received an invalid combination of arguments - the hidden and cell state must "
            f"be a tuple of two Tensors, not {type(hx).__name__}"
        )
    if len(hx) != 2:
        raise RuntimeError("lstm expects two hidden states")


class LSTM(RNNBase):
    """Long short-term memory: a hidden and a cell state.

    Arguments: ``input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, proj_size=0, device=None, dtype=None``.

    >>> output, (hidden, cell) = torch.nn.LSTM(3, 2)(torch.zeros(5, 4, 3))
    >>> output.shape, hidden.shape, cell.shape
    (torch.Size([5, 4, 2]), torch.Size([1, 4, 2]), torch.Size([1, 4, 2]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Tensor | None
    ) -> tuple[int, int, int]:
        """The shape of the cell state that belongs to an input."""
        count = self.num_layers * self._directions()
        return count, self._batch_size(input, batch_sizes), self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        if permutation is None:
            return hx
        return hx[0].index_select(1, permutation), hx[1].index_select(1, permutation)

    def _zero_states(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden = self._zero_state(input, batch_sizes, self._output_size())
        if not self.proj_size:
            return hidden, hidden  # nobody writes to them
        return hidden, self._zero_state(input, batch_sizes, self.hidden_size)

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        if isinstance(input, PackedSequence):
            return self._packed_forward(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        single = input.dim() == 2
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            dimensions = (hx[0].dim(), hx[1].dim())
            if dimensions != (input.dim(), input.dim()):
                word = "unbatched" if single else "batched"
                raise RuntimeError(
                    f"For {word} {input.dim()}-D input, hx and cx should also be {input.dim()}-D "
                    f"but got ({dimensions[0]}-D, {dimensions[1]}-D) tensors"
                )
            if single:
                hx = (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        if single:
            input = input.unsqueeze(batch_dim)
        state = self._zero_states(input, None) if hx is None else hx
        self.check_forward_args(input, state, None)
        _check_pair(state)
        output, (hidden, cell) = self._run(input, (state[0], state[1]), None)
        if single:
            return output.squeeze(batch_dim), (hidden.squeeze(1), cell.squeeze(1))
        return output, (hidden, cell)

    def _packed_forward(
        self, input: PackedSequence, hx: tuple[Tensor, ...] | None
    ) -> tuple[PackedSequence, tuple[Tensor, Tensor]]:
        data, batch_sizes, order, back = input
        if hx is None:
            hx = self._zero_states(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, batch_sizes)
        _check_pair(hx)
        output, final = self._run(data, (hx[0], hx[1]), batch_sizes)
        packed = PackedSequence(output, batch_sizes, order, back)
        hidden, cell = self.permute_hidden(final, back)
        return packed, (hidden, cell)
