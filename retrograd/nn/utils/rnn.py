"""Sequences of different lengths: padded to a common length, or packed without padding.

Packed data holds, for each time, the elements of the sequences that are still running, longest
sequence first; `batch_sizes` says how many these are at each time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from retrograd import dtypes
from retrograd.dtypes import dtype as Dtype
from retrograd.ops.making.construction import as_tensor
from retrograd.ops.making.creation import full
from retrograd.ops.making.ranges import arange
from retrograd.tensor import Array, Tensor, wrap

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_PackedFields):
    """Sequences of different lengths in one tensor, as `pack_sequence` makes it.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    PackedSequence(data=tensor([1, 3, 2]), batch_sizes=tensor([2, 1]), sorted_indices=None, \
unsorted_indices=None)
    """

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        if batch_sizes is None:  # an old form: both in one pair
            if not (isinstance(data, (list, tuple)) and len(data) == 2):
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def pin_memory(self) -> PackedSequence:
        """A copy in pinned memory, where the tensors' own `pin_memory` makes one."""
        return type(self)(
            self.data.pin_memory(), self.batch_sizes, self.sorted_indices, self.unsorted_indices
        )

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data converted as by `Tensor.to`; the same object if nothing changes."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        return self._with(data)

    def _with(self, data: Tensor) -> PackedSequence:
        """The same sequences with other data; the order lies where the data does."""
        orders = (self.sorted_indices, self.unsorted_indices)
        moved = [None if order is None else order.to(data.device) for order in orders]
        return type(self)(data, self.batch_sizes, *moved)

    def cuda(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The data on a CUDA device, where there is one; the batch sizes stay on the CPU."""
        return self._with(self.data.cuda(*args, **kwargs))

    def cpu(self, *args: object, **kwargs: object) -> PackedSequence:
        """Data on the CPU, where it is."""
        return self.to(*args, **{"device": "cpu", **kwargs})

    def _converted(self, kind: Dtype) -> PackedSequence:
        return self.to(dtype=kind)

    def double(self) -> PackedSequence:
        """Data as float64."""
        return self._converted(dtypes.float64)

    def float(self) -> PackedSequence:
        """Data as float32."""
        return self._converted(dtypes.float32)

    def half(self) -> PackedSequence:
        """Data as float16."""
        return self._converted(dtypes.float16)

    def long(self) -> PackedSequence:
        """Data as int64."""
        return self._converted(dtypes.int64)

    def int(self) -> PackedSequence:
        """Data as int32."""
        return self._converted(dtypes.int32)

    def short(self) -> PackedSequence:
        """Data as int16."""
        return self._converted(dtypes.int16)

    def char(self) -> PackedSequence:
        """Data as int8."""
        return self._converted(dtypes.int8)

    def byte(self) -> PackedSequence:
        """Data as uint8."""
        return self._converted(dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes another.

    >>> torch.nn.utils.rnn.invert_permutation(torch.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = arange(0, permutation.numel(), device=permutation.device)
    return permutation.new_empty(permutation.shape).scatter_(0, permutation, places)


# -------------------------------------------------------------------------------------- packing


def _rows(batch_sizes: Array, batch: int) -> Tensor:
    """Where packed elements lie in a padded tensor flattened over time and batch."""
    present = np.arange(batch) < np.asarray(batch_sizes)[:, None]
    return wrap(np.flatnonzero(present))


def pack_padded_sequence(
    input: Tensor,
    lengths: object,
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Pack a padded batch: time first, or batch first if `batch_first`.

    Sequences must come longest first, unless ``enforce_sorted=False``.

    >>> padded = torch.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> rnn = torch.nn.utils.rnn
    >>> packed = rnn.pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    if isinstance(lengths, Tensor):
        lengths = lengths.to(dtype=dtypes.int64)
    else:
        lengths = as_tensor(lengths, dtype=dtypes.int64, device="cpu")
    order: Tensor | None = None
    if not enforce_sorted:
        lengths, order = lengths.sort(descending=True)
        order = order.to(input.device)
        input = input.index_select(0 if batch_first else 1, order)
    if batch_first:
        input = input.transpose(0, 1)
    counts = _checked_lengths(input, lengths)
    longest = int(counts[0])
    batch_sizes = (counts > np.arange(longest)[:, None]).sum(1)
    rows = _rows(batch_sizes, counts.size).to(input.device)
    data = input.narrow(0, 0, longest).flatten(0, 1).index_select(0, rows)
    return PackedSequence(data, wrap(batch_sizes.astype(np.int64)), order, None)


def _checked_lengths(input: Tensor, lengths: Tensor) -> Array:
    """The lengths as an array, after the checks in PyTorch's order."""
    if input.numel() == 0:
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.dim() != 1 or lengths.device.type != "cpu":
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.dim()}D "
            f"{lengths.device} Long tensor"
        )
    counts = lengths._array
    batch = input.size(1)
    if counts.size != batch:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {counts.size} "
            f"(batch_size={batch})"
        )
    if (counts <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' "
            "that is <= 0"
        )
    if (counts[1:] > counts[:-1]).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
            "You can pass `enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to "
            "sidestep this requirement if you do not need ONNX exportability."
        )
    if counts[0] > input.size(0):  # PyTorch goes on, with batch sizes that do not fit the data
        raise RuntimeError(
            f"Expected all lengths to be at most the padded length {input.size(0)}, but got "
            f"{int(counts[0])}"
        )
    return counts


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The padded batch of a packed one, in its original order, and the lengths.

    >>> rnn = torch.nn.utils.rnn
    >>> packed = rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))
    """
    data, sizes = sequence.data, sequence.batch_sizes._array
    duration = sizes.size
    if total_length is not None:
        if total_length < duration:
            raise ValueError(
                "Expected total_length to be at least the length of the longest sequence in "
                f"input, but got total_length={total_length} and max sequence length being "
                f"{duration}"
            )
        duration = total_length
    batch = int(sizes[0])
    rest = tuple(data.shape[1:])
    shape = (duration, batch, *rest)
    padded = full(shape, padding_value, dtype=data.dtype, device=data.device)
    rows = _rows(sizes, batch).to(data.device)
    # written in place into the constant tensor: the result is one copy, not two
    padded.view(duration * batch, *rest).index_copy_(0, rows, data.narrow(0, 0, rows.numel()))
    lengths = wrap((sizes[:, None] > np.arange(batch)).sum(0).astype(np.int64))
    if batch_first:
        padded = padded.transpose(0, 1)
    order = sequence.unsorted_indices
    if order is None:
        return padded, lengths
    return padded.index_select(0 if batch_first else 1, order), lengths[order.cpu()]


# -------------------------------------------------------------------------------------- padding


def pad_sequence(
    sequences: list[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors of different lengths in one, filled up with `padding_value`.

    >>> pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            "pad_sequence: Expected iterable for input sequences, but got arg of type: "
            f"{type(sequences)}"
        )
    parts = tuple(sequences)
    for place, part in enumerate(parts):
        if not isinstance(part, Tensor):
            raise TypeError(
                f"expected Tensor as element {place} in argument 0, but got {type(part).__name__}"
            )
    if not parts:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(
            f"Expected padding_side to be one of left or right, but got {padding_side}."
        )
    if any(part.dim() == 0 for part in parts):
        raise RuntimeError("pad_sequence: a sequence has at least one dimension, but got a number")
    longest = max(part.size(0) for part in parts)
    first = (len(parts), longest) if batch_first else (longest, len(parts))
    shape = (*first, *parts[0].shape[1:])
    padded: Tensor = full(shape, padding_value, dtype=parts[0].dtype, device=parts[0].device)
    for place, part in enumerate(parts):
        length = part.size(0)
        start = longest - length if padding_side == "left" else 0
        row = padded.select(0 if batch_first else 1, place)
        row.narrow(0, start, length).copy_(part)
    return padded


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each with its own length.

    As in PyTorch, a time-first batch is left transposed, batch first, by this call.

    >>> unpad_sequence(torch.tensor([[1, 2], [3, 0]]), torch.tensor([2, 1]), batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    if not batch_first:
        padded_sequences.transpose_(0, 1)
    places = arange(padded_sequences.shape[1], device=padded_sequences.device)
    return [
        sequence[places < length]
        for sequence, length in zip(padded_sequences, lengths, strict=True)
    ]


def pack_sequence(sequences: list[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack a list of tensors of different lengths.

    >>> pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = as_tensor([one.size(0) for one in sequences], device="cpu")
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of tensors that were packed.

    >>> unpack_sequence(pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
