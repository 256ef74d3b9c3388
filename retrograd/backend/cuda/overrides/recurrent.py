"""Layers of LSTM and GRU, and single steps: a product and one launch for each step.

What does not depend on the state before is computed for all steps at once, by `nn.layer_steps`. A
step takes memory that was made before the first one, and nothing waits for the device: so layers
can be recorded into a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from retrograd.backend.arrays import DType
from retrograd.backend.cuda import launch
from retrograd.backend.cuda.overrides.kinds import WIDE, own_first, source, wide_dtype
from retrograd.backend.device import Backend

Many = tuple[Any, ...]
Repeated = Callable[[int, int], None]

_MOST = 2**31  # elements of one step's gates: the kernels count in 32 bits


class Layers:
    """All steps of a layer on one device; see `backend.cpu_recurrent` for what they take."""

    def __init__(self, backend: Backend) -> None:
        self.array: Any = backend.array
        self.xp = backend.xp
        self.blas: Any = backend.blas  # type: ignore[attr-defined]

    def takes(self, dtype: DType) -> bool:
        """Whether layers of these elements run at once."""
        return dtype.name in WIDE and bool(self.blas.usable())

    def product(self, a: Any, b: Any) -> Any:
        """The product of two matrices."""
        return self.xp.matmul2d(a, b)

    def total(self, x: Any) -> Any:
        """The sum of the rows."""
        return self.xp.sum(x, 0)

    # ------------------------------------------------------------------------------- helpers

    def _new(self, shape: tuple[int, ...], dtype: DType) -> Any:
        return self.array(shape, dtype)

    def _rows(self, array: Any) -> Any:
        """An array that lies row by row."""
        return array if array._c_contiguous else self.xp.ascontiguousarray(array)

    def _states(self, steps: int, first: Any) -> Any:
        """Memory for all states, with the initial one in front."""
        found = self._new((steps + 1, *first.shape), first.dtype)
        found[0] = first
        return found

    def _slope(self, given: Any, like: Any) -> Any:
        """A gradient in what is computed with, that the kernels may write."""
        if given is None:
            return self.xp.zeros(like.shape, wide_dtype(like.dtype))
        return given.astype(wide_dtype(given.dtype), order="C")

    def _narrow(self, array: Any, dtype: DType) -> Any:
        return array if array.dtype == dtype else array.astype(dtype)

    # ---------------------------------------------------------------------------------- LSTM

    def lstm(self, gates: Any, hidden: Any, cell: Any, weight: Any, bias: Any, other: Any) -> Many:
        """The hidden and the cell states."""
        steps, rows, columns = gates.shape
        hiddens, cells = self._states(steps, hidden), self._states(steps, cell)
        own = self._new((rows, columns), wide_dtype(gates.dtype))
        multiply = self.blas.repeated(rows, weight.T, own.dtype)
        function = source("recurrent", gates.dtype).lstm_step
        biases = _addresses(bias, other)
        share, width = own.data.ptr, hidden.shape[1]
        gate, step_of_gates = _moving(gates)
        (before, step), (kept, _) = _moving(hiddens), _moving(cells)
        blocks = launch.blocks_for(rows * width)
        for _ in range(steps):
            multiply(before, share)
            given = (gate, share, *biases, kept, before + step, kept + step, rows, width)
            launch.launch(function, blocks, given)
            gate += step_of_gates
            before += step
            kept += step
        return hiddens, cells

    def lstm_gradients(
        self, gates: Any, cell: Any, weight: Any, of_hidden: Any, of_cell: Any
    ) -> Many:
        """Of the input's share of the gates, of the first hidden and of the first cell state."""
        steps, rows, _ = gates.shape
        width = cell.shape[2]
        dtype = gates.dtype
        found, of_hidden = self._new(gates.shape, dtype), self._rows(of_hidden)
        slope = self._slope(of_cell, cell)
        back: Any = self.xp.zeros((rows, width), slope.dtype)
        multiply = self.blas.repeated(rows, weight, back.dtype)
        function = source("recurrent", dtype).lstm_slopes
        (gate, step_of_gates), (made, _) = _moving(gates), _moving(found)
        (kept, step), (given, _) = _moving(cell), _moving(of_hidden)
        later, running = back.data.ptr, slope.data.ptr
        blocks = launch.blocks_for(rows * width)
        for place in range(steps - 1, -1, -1):
            at, among = place * step, place * step_of_gates
            parts = (gate + among, kept + at, kept + at + step, given + at, later, running)
            launch.launch(function, blocks, (*parts, made + among, rows, width))
            multiply(made + among, later)
        return found, self._narrow(back, dtype), self._narrow(slope, dtype)

    def lstm_step(
        self,
        input: Any,
        hidden: Any,
        cell: Any,
        weight_ih: Any,
        weight_hh: Any,
        bias_ih: Any,
        bias_hh: Any,
    ) -> Many | None:
        """The op `_lstm_step`: the new hidden and cell state, and the gates."""
        if not self._takes_step(4, (hidden, cell), input, weight_ih, weight_hh, bias_ih, bias_hh):
            return None
        gates, own = self._shares(input, hidden, weight_ih, weight_hh)
        cell = self._rows(cell)
        new, kept = (self._new(cell.shape, cell.dtype) for _ in range(2))
        pointers = _addresses(gates, own, bias_ih, bias_hh)
        pointers += _addresses(cell, new, kept)
        function = source("recurrent", gates.dtype).lstm_step
        launch.launch(function, launch.blocks_for(cell.size), (*pointers, *cell.shape))
        return new, kept, gates

    def lstm_step_gradients(
        self,
        g: Sequence[Any],
        needs: tuple[bool, ...],
        input: Any,
        hidden: Any,
        cell: Any,
        weight_ih: Any,
        weight_hh: Any,
        next_cell: Any,
        gates: Any,
    ) -> Any:
        """Those of the op's operands."""
        if g[2] is not None or not self._takes_gradients(gates, g):
            return None
        share, slope = self._new(gates.shape, gates.dtype), self._slope(g[1], cell)
        parts = [None if x is None else self._rows(x) for x in (gates, cell, next_cell, g[0])]
        pointers = (*_addresses(*parts), 0, slope.data.ptr, share.data.ptr)
        function = source("recurrent", gates.dtype).lstm_slopes
        launch.launch(function, launch.blocks_for(cell.size), (*pointers, *cell.shape))
        of_cell = self._narrow(slope, gates.dtype) if needs[2] else None
        states, weights = self._of_operands(
            needs, (input, hidden, weight_ih, weight_hh), share, share
        )
        return (*states, of_cell, *weights)

    # ----------------------------------------------------------------------------------- GRU

    def gru(self, gates: Any, hidden: Any, weight: Any, bias: Any, other: Any) -> Many:
        """The hidden states, and the hidden state's share of the candidates."""
        steps, rows, columns = gates.shape
        width = hidden.shape[1]
        hiddens = self._states(steps, hidden)
        owns = self._new((steps, rows, width), gates.dtype)
        own = self._new((rows, columns), wide_dtype(gates.dtype))
        multiply = self.blas.repeated(rows, weight.T, own.dtype)
        function = source("recurrent", gates.dtype).gru_step
        biases = _addresses(bias, other)
        share = own.data.ptr
        (gate, step_of_gates), (before, step) = _moving(gates), _moving(hiddens)
        kept, _ = _moving(owns)
        blocks = launch.blocks_for(rows * width)
        for _ in range(steps):
            multiply(before, share)
            given = (gate, share, *biases, before, before + step, kept, rows, width)
            launch.launch(function, blocks, given)
            gate += step_of_gates
            before += step
            kept += step
        return hiddens, owns

    def gru_gradients(self, gates: Any, own: Any, hidden: Any, weight: Any, of_hidden: Any) -> Many:
        """Of the input's and of the hidden state's share of the gates, and of the first state."""
        steps, rows, _ = gates.shape
        width = own.shape[2]
        dtype = gates.dtype
        found, of_own = (self._new(gates.shape, dtype) for _ in range(2))
        of_hidden = self._rows(of_hidden)
        back: Any = self.xp.zeros((rows, width), wide_dtype(dtype))
        multiply = self.blas.repeated(rows, weight, back.dtype, add=True)
        function = source("recurrent", dtype).gru_slopes
        (gate, step_of_gates), (made, _), (share, _) = map(_moving, (gates, found, of_own))
        (kept, step), (before, _), (given, _) = map(_moving, (own, hidden, of_hidden))
        later = back.data.ptr
        blocks = launch.blocks_for(rows * width)
        for place in range(steps - 1, -1, -1):
            at, among = place * step, place * step_of_gates
            parts = (gate + among, kept + at, before + at, given + at, later)
            given_to = (*parts, made + among, share + among, rows, width)
            launch.launch(function, blocks, given_to)
            multiply(share + among, later)
        return found, of_own, self._narrow(back, dtype)

    def gru_step(
        self, input: Any, hidden: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any
    ) -> Many | None:
        """The op `_gru_step`: the new state, the gates, the share of the candidate."""
        if not self._takes_step(3, (hidden,), input, weight_ih, weight_hh, bias_ih, bias_hh):
            return None
        hidden = self._rows(hidden)
        gates, own = self._shares(input, hidden, weight_ih, weight_hh)
        new, kept = (self._new(hidden.shape, hidden.dtype) for _ in range(2))
        pointers = _addresses(gates, own, bias_ih, bias_hh)
        pointers += _addresses(hidden, new, kept)
        function = source("recurrent", gates.dtype).gru_step
        launch.launch(function, launch.blocks_for(hidden.size), (*pointers, *hidden.shape))
        return new, gates, kept

    def gru_step_gradients(
        self,
        g: Sequence[Any],
        needs: tuple[bool, ...],
        input: Any,
        hidden: Any,
        weight_ih: Any,
        weight_hh: Any,
        gates: Any,
        own: Any,
    ) -> Any:
        """Those of the op's operands."""
        if g[1] is not None or g[2] is not None or not self._takes_gradients(gates, g):
            return None
        of_gates, of_own = (self._new(gates.shape, gates.dtype) for _ in range(2))
        back = self._slope(g[0], hidden)
        parts = [self._rows(x) for x in (gates, own, hidden)]
        pointers = (*_addresses(*parts, None), *_addresses(back, of_gates, of_own))
        function = source("recurrent", gates.dtype).gru_slopes
        launch.launch(function, launch.blocks_for(hidden.size), (*pointers, *hidden.shape))
        operands = (input, hidden, weight_ih, weight_hh)
        alone = (needs[0], False, *needs[2:])
        states, weights = self._of_operands(alone, operands, of_gates, of_own)
        if needs[1]:  # added to what the step gives it beside the product, and rounded once
            rows = hidden.shape[0]
            multiply = self.blas.repeated(rows, weight_hh, back.dtype, add=True)
            multiply(of_own.data.ptr, back.data.ptr)
            states[1] = self._narrow(back, gates.dtype)
        return (*states, *weights)

    # --------------------------------------------------------------------------- single steps

    def _shares(self, input: Any, hidden: Any, weight_ih: Any, weight_hh: Any) -> tuple[Any, Any]:
        """The input's share of the gates, and the hidden state's in what is computed with."""
        hidden = self._rows(hidden)
        rows = hidden.shape[0]
        own = self._new((rows, weight_hh.shape[0]), wide_dtype(hidden.dtype))
        self.blas.repeated(rows, weight_hh.T, own.dtype)(hidden.data.ptr, own.data.ptr)
        return self.product(input, weight_ih.T), own

    def _takes_step(self, gates: int, states: Sequence[Any], input: Any, *weights: Any) -> bool:
        """Whether operands are of one type and fit each other."""
        hidden, (weight_ih, weight_hh, *biases) = states[0], weights
        rows, width = hidden.shape
        operands = [*states, input, *[w for w in weights if w is not None]]
        return (
            all(type(x) is self.array and x.dtype == input.dtype and x.size for x in operands)
            and self.takes(input.dtype)
            and (biases[0] is None) is (biases[1] is None)
            and input.shape[0] == rows
            and all(x.shape == (rows, width) for x in states)
            and weight_ih.shape == (gates * width, input.shape[1])
            and weight_hh.shape == (gates * width, width)
            and all(x is None or x.shape == (gates * width,) for x in biases)
            and gates * hidden.size < _MOST
        )

    def _takes_gradients(self, gates: Any, g: Sequence[Any]) -> bool:
        fits = [x is None or (type(x) is self.array and x.dtype == gates.dtype) for x in g]
        return type(gates) is self.array and self.takes(gates.dtype) and all(fits)

    def _of_operands(
        self, needs: tuple[bool, ...], operands: Sequence[Any], of_gates: Any, of_own: Any
    ) -> tuple[list[Any], list[Any]]:
        """Of input and hidden state, and of weights and biases, from the shares' gradients."""
        input, hidden, weight_ih, weight_hh = operands
        states = [
            self.product(of_gates, weight_ih) if needs[0] else None,
            self.product(of_own, weight_hh) if needs[1] else None,
        ]
        weights = [
            self.product(of_gates.T, input) if needs[-4] else None,
            self.product(of_own.T, hidden) if needs[-3] else None,
            self.total(of_gates) if needs[-2] else None,
            self.total(of_own) if needs[-1] else None,
        ]
        return states, weights


def _addresses(*arrays: Any) -> tuple[int, ...]:
    """Where arrays lie; zero for one that is not there."""
    return tuple([0 if array is None else array.data.ptr for array in arrays])


def _moving(array: Any) -> tuple[int, int]:
    """Where an array of all steps lies, and how far one step is from the next."""
    return array.data.ptr, array.strides[0]


def install(backend: Backend) -> None:
    """Let layers and single steps use these."""
    layers = Layers(backend)
    backend.recurrent = layers
    own_first(backend, "_lstm_step", layers.lstm_step, halves=True)
    own_first(backend, "_lstm_step_gradients", layers.lstm_step_gradients, halves=True)
    own_first(backend, "_gru_step", layers.gru_step, halves=True)
    own_first(backend, "_gru_step_gradients", layers.gru_step_gradients, halves=True)
