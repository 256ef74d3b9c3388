"""Parameters of optimizers that are two tensors over one memory, with a gradient for each."""

from __future__ import annotations

from dataclasses import dataclass

from retrograd.watching.gradients import Gradients, parameters_of
from retrograd.watching.torch_types import OptimizerLike, TensorLike

LOOKS = frozenset({3, 6, 12})  # at these steps of an optimizer


@dataclass
class Shared:
    """Two parameters that both got gradients."""

    first: TensorLike
    second: TensorLike
    looks: int = 1


class SharedMemory:
    """Looks for parameters whose memory another one begins with."""

    def __init__(self, gradients: Gradients) -> None:
        self.found: dict[tuple[int, int], Shared] = {}
        self._gradients = gradients
        self._steps: dict[int, int] = {}

    def before_step(self, optimizer: OptimizerLike) -> None:
        """Count the step, and look if it is one of those."""
        step = self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if step not in LOOKS:
            return
        owners: dict[tuple[int, tuple[int, ...]], TensorLike] = {}
        for parameter in parameters_of(optimizer):
            address = parameter.untyped_storage().data_ptr() if parameter.numel() > 1 else 0
            if not address or parameter.grad is None or not self._gradients.is_waiting(parameter):
                continue
            first = owners.setdefault((address, tuple(parameter.shape)), parameter)
            if first is not parameter and first.data_ptr() == parameter.data_ptr():
                pair = id(first), id(parameter)
                if pair in self.found:
                    self.found[pair].looks += 1
                else:
                    self.found[pair] = Shared(first, parameter)
