"""Gradients in buckets: each is one exchange, begun as soon as its last gradient is there.

A bucket has a flat array into which gradients are packed. A large gradient travels by itself
instead: its own array is exchanged, and nothing is copied. Which gradients those are is a matter of
the parameters' sizes, so all processes agree on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from retrograd.distributed.transports.interface import Flat
from retrograd.tensor import Tensor, wrap

__all__ = ["Bucket", "GradBucket", "Place", "assigned"]

# Copying into a bucket and back costs less than an exchange of its own up to this many bytes.
LARGE = 1 << 18


class Place:
    """Where the gradient of one parameter is in its bucket."""

    __slots__ = ("bucket", "dtype", "flat", "number", "ready", "shape", "view")

    def __init__(self, number: int, bucket: Bucket, like: Any, view: Any) -> None:
        self.number = number
        self.bucket = bucket
        self.shape = like.shape
        self.dtype = like.dtype
        self.view = view  # a part of the bucket's array; None: it travels by itself
        self.flat: Flat | None = None  # what travels then, once it is known
        self.ready = False

    def result(self) -> Any:
        """What the exchange made of it."""
        if self.view is not None:
            return self.view
        assert self.flat is not None
        return self.flat.reshape(self.shape)


class Bucket:
    """Some parameters whose gradients are exchanged together.

    sparse  whether it is one parameter, with sparse gradients
    """

    def __init__(
        self, index: int, numbers: Sequence[int], parameters: Sequence[Tensor], sparse: bool
    ) -> None:
        self.index = index
        self.numbers = list(numbers)
        self.parameters = [parameters[number] for number in numbers]
        self.sparse = sparse
        self.pending = len(self.numbers)
        self.work: Any = None
        self.places: list[Place] = []
        self.packed: Flat = np.empty(0)
        size = sum(parameter.numel() for parameter in self.parameters)
        kind = str(self.parameters[0].dtype).removeprefix("torch.")
        self.detail = f"gradients of bucket {index}: {kind}[{size}]"
        self.agreed = f"{index} {kind} {size}"

    def lay_out(self, whole: bool) -> None:
        """Say where each gradient is; `whole`: all in the flat array, also large ones."""
        arrays: list[Any] = [parameter._array for parameter in self.parameters]
        inside = [not self.sparse and (whole or array.nbytes < LARGE) for array in arrays]
        sizes = [array.size for array, packed in zip(arrays, inside, strict=True) if packed]
        self.packed = np.zeros(sum(sizes), arrays[0].dtype)
        self.places, at = [], 0
        for number, array, packed in zip(self.numbers, arrays, inside, strict=True):
            view = None
            if packed:
                view = self.packed[at : at + array.size].reshape(array.shape)
                at += array.size
            self.places.append(Place(number, self, array, view))

    def flats(self) -> list[Flat]:
        """What is exchanged."""
        alone = [place.flat for place in self.places if place.flat is not None]
        return [self.packed, *alone] if self.packed.size else alone

    def size(self) -> int:
        """How many bytes the gradients have."""
        arrays: list[Any] = [parameter._array for parameter in self.parameters]
        return sum(array.nbytes for array in arrays)


class GradBucket:
    """A bucket as communication hooks see it; `register_comm_hook` says what they are for."""

    def __init__(self, bucket: Bucket, packed: Flat, last: bool) -> None:
        self._bucket = bucket
        self._buffer = wrap(packed)
        self._last = last

    def index(self) -> int:
        """The number of the bucket: those with lower ones are complete earlier."""
        return self._bucket.index

    def buffer(self) -> Tensor:
        """All gradients, flat, in one tensor."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Have another tensor in its place."""
        self._buffer = buffer

    def gradients(self) -> list[Tensor]:
        """Each gradient, as a part of the buffer."""
        parameters = self._bucket.parameters
        parts = self._buffer.split([parameter.numel() for parameter in parameters])
        pairs = zip(parts, parameters, strict=True)
        return [part.view(parameter.shape) for part, parameter in pairs]

    def parameters(self) -> list[Tensor]:
        """The parameters, in the order of their gradients."""
        return list(self._bucket.parameters)

    def is_last(self) -> bool:
        """Whether no other bucket follows in this backward."""
        return self._last


def assigned(
    order: Sequence[int],
    parameters: Sequence[Tensor],
    limits: Sequence[int],
    sparse: Sequence[bool],
) -> list[list[int]]:
    """The numbers of parameters in buckets, in this order: each of one dtype and up to a size.

    limits  how many bytes close the first bucket, the second ...; the last holds for all others
    sparse  which parameters get sparse gradients: each of them is a bucket of its own
    """
    done: list[list[int]] = []
    begun: dict[object, tuple[list[int], int]] = {}  # by dtype: numbers, and their bytes
    closed: dict[object, int] = {}
    for number in order:
        if sparse[number]:
            done.append([number])
            continue
        key = parameters[number].dtype
        numbers, held = begun.pop(key, ([], 0))
        numbers.append(number)
        held += parameters[number].nbytes
        if held >= limits[min(closed.get(key, 0), len(limits) - 1)]:
            closed[key] = closed.get(key, 0) + 1
            done.append(numbers)
        else:
            begun[key] = numbers, held
    done.extend(numbers for numbers, _ in begun.values())
    place = {number: index for index, number in enumerate(order)}
    return sorted(done, key=lambda numbers: place[numbers[0]])
