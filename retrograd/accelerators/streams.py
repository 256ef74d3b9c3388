"""Rows of work on a CUDA device, and marks in them."""

from __future__ import annotations

from typing import Any

from retrograd.accelerators.devices import backend, index_of
from retrograd.tensor.size import Device
from retrograd.tensor.size import device as _device


class Stream:
    """A row of work: what is put in it is done in order, beside the work of other rows.

    device    where; the current device if None
    priority  lower numbers go first
    """

    def __init__(self, device: Device = None, priority: int = 0, **options: Any) -> None:
        here = backend()
        index = index_of(device)
        here.check_index(index)
        self._stream: Any = options.get("_stream")
        if self._stream is None:
            self._stream = here.cupy.cuda.Stream(non_blocking=True, priority=priority)
        self.device_index = index
        self.priority = priority

    @property
    def device(self) -> _device:
        """The device of the row."""
        return _device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """CUDA's handle."""
        found: int = self._stream.ptr
        return found

    @property
    def stream_id(self) -> int:
        """A number that no other row has."""
        return self.cuda_stream

    def query(self) -> bool:
        """Whether all its work has been done."""
        return bool(self._stream.done)

    def synchronize(self) -> None:
        """Wait until all its work has been done."""
        self._stream.synchronize()

    def record_event(self, event: Event | None = None) -> Event:
        """Put a mark at the end of the row."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Let later work of the row wait until a mark is reached."""
        if event._event is not None:
            self._stream.wait_event(event._event)

    def wait_stream(self, stream: Stream) -> None:
        """Let later work of the row wait for the work that another has now."""
        self.wait_event(stream.record_event())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.cuda_stream

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        self._stream.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stream.__exit__(*exception)


class ExternalStream(Stream):
    """A row of work that other code made, by CUDA's handle."""

    def __init__(self, stream_ptr: int, device: Device = None, **options: object) -> None:
        made = backend().cupy.cuda.Stream.from_external(_Handle(stream_ptr))
        super().__init__(device, _stream=made)


class _Handle:
    """CUDA's handle of a row of work, as other libraries tell it."""

    def __init__(self, pointer: int) -> None:
        self.pointer = pointer

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self.pointer


class Event:
    """A mark in a row of work: the host, or another row, can wait for it.

    enable_timing  the time when it is reached is kept
    blocking       the host waits without spinning
    """

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        backend()
        self._event: Any = None  # made when it is first recorded
        self._times, self._blocks, self._shared = enable_timing, blocking, interprocess

    def record(self, stream: Stream | None = None) -> None:
        """Put the mark at the end of a row, of the current one by default."""
        stream = current_stream() if stream is None else stream
        if self._event is None:
            options = {"block": self._blocks, "interprocess": self._shared}
            make = backend().cupy.cuda.Event
            self._event = make(disable_timing=not self._times, **options)
        self._event.record(stream._stream)

    def wait(self, stream: Stream | None = None) -> None:
        """Let later work of a row wait until the mark is reached."""
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the mark is reached; one that was never put is."""
        return True if self._event is None else bool(self._event.done)

    def synchronize(self) -> None:
        """Wait until the mark is reached."""
        if self._event is not None:
            self._event.synchronize()

    def elapsed_time(self, end_event: Event) -> float:
        """The milliseconds from this mark to another."""
        if not (self._times and end_event._times):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._event is None or end_event._event is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        if not (self.query() and end_event.query()):
            raise RuntimeError("Both events must be completed before calculating elapsed time.")
        found: float = backend().cupy.cuda.get_elapsed_time(self._event, end_event._event)
        return found

    @property
    def cuda_event(self) -> int:
        """CUDA's handle; 0 before the mark was put."""
        return 0 if self._event is None else self._event.ptr

    def __repr__(self) -> str:
        if self._event is None:
            return "<torch.cuda.Event uninitialized>"
        return f"<torch.cuda.Event {self.cuda_event:#x}>"


class StreamContext:
    """The context in which a row of work is used; None stands for none."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream._stream.__enter__()

    def __exit__(self, *exception: object) -> None:
        if self.stream is not None:
            self.stream._stream.__exit__(*exception)


def stream(stream: Stream | None) -> StreamContext:
    """The context in which a row of work is used."""
    return StreamContext(stream)


def set_stream(stream: Stream | None) -> None:
    """Use a row of work from here on; None changes nothing."""
    if stream is not None:
        stream._stream.use()


def current_stream(device: Device = None) -> Stream:
    """The row of work in use."""
    return Stream(device, _stream=backend().cupy.cuda.get_current_stream())


def default_stream(device: Device = None) -> Stream:
    """The row of work that is used where nothing else was chosen."""
    return Stream(device, _stream=backend().cupy.cuda.Stream.null)


def get_stream_from_external(data_ptr: int, device: Device = None) -> Stream:
    """A row of work that other code made, by CUDA's handle."""
    return ExternalStream(data_ptr, device)
