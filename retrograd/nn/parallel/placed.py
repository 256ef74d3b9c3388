"""Where the module of a DistributedDataParallel is, and its inputs there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retrograd.notices import explained
from retrograd.tensor import Tensor
from retrograd.tensor.size import device

__all__ = ["chosen", "moved"]


def chosen(
    parameters: Sequence[Tensor], device_ids: Sequence[Any] | None, output_device: Any
) -> tuple[list[int] | None, int | None]:
    """The numbers of the device for inputs and of that for outputs; None where nothing is moved."""
    if device_ids is not None and len(device_ids) > 1:
        raise ValueError("device_ids can only be None or contain a single element.")
    devices = {parameter.device for parameter in parameters}
    kinds = {each.type for each in devices}
    if len(kinds) > 1:
        text = (
            "DistributedDataParallel's input module must be on the same type of devices, but "
            f"input module parameters locate in {kinds}."
        )
        raise explained(ValueError(text), code="RG308")
    if device_ids and len(devices) == 1 and kinds != {"cpu"}:
        first = _number(device_ids[0])
        return [first], first if output_device is None else _number(output_device)
    if device_ids or output_device:
        raise ValueError(
            "DistributedDataParallel device_ids and output_device arguments only work with "
            "single-device/multiple-device GPU modules or CPU modules, but got device_ids "
            f"{device_ids}, output_device {output_device}, and module parameters {devices}."
        )
    return None, None


def _number(given: Any) -> int:
    if isinstance(given, int):
        return given
    found = device(given).index
    if found is None:
        raise ValueError(f"device_ids and output_device name a device by its number, not {given}")
    return found


def moved(value: Any, to: device) -> Any:
    """The tensors of an argument on a device, in lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        return value.to(to)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(each, to) for each in value))
    if isinstance(value, list | tuple):
        return type(value)(moved(each, to) for each in value)
    if isinstance(value, dict):
        return type(value)((key, moved(each, to)) for key, each in value.items())
    return value
