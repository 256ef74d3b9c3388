"""Whether random numbers are drawn inside of `vmap`, which has rules for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from retrograd.above import above
from retrograd.tensor import Tensor


class Batches(Protocol):
    """The functions of `transforms.randomness` that samplers call."""

    def is_mapped(self) -> bool: ...
    def check_batched(self, tensor: Tensor) -> None: ...
    def by_shape(
        self,
        draw: Callable[[tuple[int, ...]], Tensor],
        shape: tuple[int, ...],
        out: Tensor | None = None,
    ) -> Tensor: ...
    def one_by_one(self, draw: Callable[[], Tensor], out: Tensor | None = None) -> Tensor: ...
    def like(self, draw: Callable[[Tensor], Tensor], input: Tensor) -> Tensor: ...
    def of_tensors(self, draw: Callable[..., Tensor], *tensors: Tensor) -> Tensor: ...
    def of_rows(self, draw: Callable[[Tensor], Tensor], input: Tensor) -> Tensor: ...
    def in_place(self, fill: Callable[[Tensor], object], target: Tensor) -> Tensor: ...
    def bernoulli_in_place(
        self, draw: Callable[[Tensor, Tensor], object], target: Tensor, p: Tensor
    ) -> Tensor: ...


@above
def batches() -> Batches:
    """Those rules; they are made of ops."""
    raise NotImplementedError


def is_mapped() -> bool:
    """Whether a vmap is running in this thread; ask only where a transform is active."""
    return batches().is_mapped()
