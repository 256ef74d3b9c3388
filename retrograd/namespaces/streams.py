"""`torch.Stream` and `torch.Event`: rows of work of any device, of which there is the CPU's."""

from __future__ import annotations

from typing import NoReturn

from retrograd.notices import runtime_error
from retrograd.tensor.size import Device
from retrograd.tensor.size import device as _device


def _on_cpu(where: Device | None) -> _device:
    """The device of a stream: the CPU, another is not there."""
    found = _device("cpu" if where is None else where)
    if found.type != "cpu":
        raise runtime_error(
            f"PyTorch is not linked with support for {found.type} devices", code="RG302"
        )
    return found


def _no_events() -> NoReturn:
    raise runtime_error("cpu backend doesn't support events.", code="RG302")


class Stream:
    """A row of work for a device: the CPU works in one row, so all of its streams are equal.

    >>> torch.Stream()
    torch.Stream device_type=cpu, device_index=-1, stream_id=0
    """

    device_index = -1
    device_type = 0
    stream_id = 0

    def __init__(self, device: Device | None = None, *, priority: int = 0) -> None:
        self.device = _on_cpu(device)

    def query(self) -> bool:
        """Whether the work is done: ops return when it is."""
        return True

    def synchronize(self) -> None:
        """Wait for the work: ops return when it is done."""

    def wait_event(self, event: Event) -> None:
        """Wait for an event: it was reached."""

    def record_event(self, event: Event | None = None) -> NoReturn:
        """Mark a place in the row: PyTorch refuses that on the CPU, and so does this."""
        _no_events()

    def wait_stream(self, stream: Stream) -> NoReturn:
        """Wait for another row: PyTorch refuses that on the CPU, and so does this."""
        _no_events()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return "torch.Stream device_type=cpu, device_index=-1, stream_id=0"


class Event:
    """A mark in a row of work. On the CPU none can be set."""

    event_id = 0

    def __init__(
        self,
        device: Device | None = None,
        *,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
    ) -> None:
        self.device = _on_cpu(device)
        self._timed = enable_timing

    def query(self) -> bool:
        """Whether it is reached: yes."""
        return True

    def synchronize(self) -> None:
        """Wait until it is reached: it is."""

    def record(self, stream: Stream | None = None) -> NoReturn:
        """Put the mark here: PyTorch refuses that on the CPU, and so does this."""
        _no_events()

    def __repr__(self) -> str:
        flag = 1 if self._timed else 0
        return f"torch.Event device_type=cpu, device_index=-1, event_flag={flag}, event_id=0"


for _kind in (Stream, Event):
    _kind.__module__ = "torch"
