"""Tensors split over devices, and brought together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.tensor import Tensor


def scatter(inputs: object, target_gpus: Sequence[object], dim: int = 0) -> Any:
    """Refused for tensors: there are no devices. Anything else is repeated for every device.

    >>> scatter({"scale": 3}, [0, 1])
    [{'scale': 3}, {'scale': 3}]
    """
    if _holds_tensor(inputs):
        raise NotImplementedError(
            "scatter of tensors is not supported: there is no accelerator to send them to"
        )
    return [inputs for _ in target_gpus]


def gather(outputs: object, target_device: object, dim: int = 0) -> Any:
    """Refused, as PyTorch does for tensors on the CPU."""
    raise AssertionError("Gather function not implemented for CPU tensors")


def _holds_tensor(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_tensor(each) for each in value.values())
    if isinstance(value, list | tuple):
        return any(_holds_tensor(each) for each in value)
    return isinstance(value, Tensor)
