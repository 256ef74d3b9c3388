"""The profiler's results: single events, their averages, and lists of them.

>>> from retrograd.autograd.profiler_util import Interval
>>> Interval(3, 10).elapsed_us()
7
"""

from __future__ import annotations

import enum
import json
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from retrograd.autograd.profiling.table import build_table, device_name, format_time
from retrograd.autograd.profiling.table import format_time as _format_time  # noqa: F401
from retrograd.lifecycle.site import user_level


class DeviceType(enum.Enum):
    """The kinds of devices that PyTorch knows; events here are all on the CPU."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class Interval:
    """A stretch of time, in microseconds since the profiler started."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A piece of work on a device."""

    name: str
    device: int
    duration: float


def _formatted(name: str) -> Any:
    return property(lambda self: format_time(getattr(self, name)))


def _deprecated(name: str, instead: str, mark: str = ".") -> Any:
    def read(self: object) -> Any:
        please = "please use" if mark == "," else "Use"
        text = f"`{name}` is deprecated{mark} {please} `{instead}` instead."
        warnings.warn(text, FutureWarning, stacklevel=user_level())
        return getattr(self, instead)

    return property(read)


class FormattedTimesMixin:
    """The times of an event as text, and its average per call."""

    count: int
    cpu_time_total: Any
    device_time_total: Any

    cpu_time_str = _formatted("cpu_time")
    device_time_str = _formatted("device_time")
    cpu_time_total_str = _formatted("cpu_time_total")
    device_time_total_str = _formatted("device_time_total")
    self_cpu_time_total_str = _formatted("self_cpu_time_total")
    self_device_time_total_str = _formatted("self_device_time_total")
    cuda_time = _deprecated("cuda_time", "device_time", ",")

    @property
    def cpu_time(self) -> float:
        """Microseconds per call."""
        return 0.0 if self.count == 0 else 1.0 * self.cpu_time_total / self.count

    @property
    def device_time(self) -> float:
        """Microseconds per call on the device."""
        return 0.0 if self.count == 0 else 1.0 * self.device_time_total / self.count


class FunctionEvent(FormattedTimesMixin):
    """One call: when, for how long, in which thread, inside which other call."""

    device_time_total = 0
    self_device_time_total = 0
    cuda_time_total = _deprecated("cuda_time_total", "device_time_total")
    self_cuda_time_total = _deprecated("self_cuda_time_total", "self_device_time_total")
    self_cuda_memory_usage = _deprecated("self_cuda_memory_usage", "self_device_memory_usage")

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str | None = None,
        fwd_thread: int | None = None,
        input_shapes: object = None,
        stack: object = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: DeviceType = DeviceType.CPU,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: object = None,
        kwinputs: object = None,
        is_user_annotation: bool = False,
        is_python_function: bool = False,
        activity_type: str | None = None,
        structured_input_shapes: object = None,
        structured_input_strides: object = None,
        input_dtypes: object = None,
    ) -> None:
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels: list[Kernel] = []
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.activity_type = activity_type
        self.self_cpu_percent: Any = -1
        self.total_cpu_percent: Any = -1
        self.structured_input_shapes = structured_input_shapes
        self.structured_input_strides = structured_input_strides
        self.input_dtypes = input_dtypes

    def append_kernel(self, name: str, device: int, duration: float) -> None:
        """Add a piece of work on a device."""
        self._require_cpu(self)
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add a call that was made directly by this one."""
        self._require_cpu(self)
        if not isinstance(child, FunctionEvent):
            raise AssertionError("Expected child to be a FunctionEvent")
        self._require_cpu(child, "child ")
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Note the call that made this one."""
        self._require_cpu(self)
        if not isinstance(parent, FunctionEvent):
            raise AssertionError("Expected parent to be a FunctionEvent")
        self._require_cpu(parent, "parent ")
        self.cpu_parent = parent

    @staticmethod
    def _require_cpu(event: FunctionEvent, which: str = "") -> None:
        if event.device_type != DeviceType.CPU:
            raise AssertionError(f"Expected {which}device_type to be CPU")

    @property
    def _is_counted(self) -> bool:
        return not self.is_async and self.device_type == DeviceType.CPU

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes, without those of the calls inside."""
        if not self._is_counted:
            return 0
        return self.cpu_memory_usage - sum([c.cpu_memory_usage for c in self.cpu_children])

    @property
    def self_device_memory_usage(self) -> int:
        """Bytes on the device, without those of the calls inside."""
        if not self._is_counted:
            return 0
        return self.device_memory_usage - sum([c.device_memory_usage for c in self.cpu_children])

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from the call to its return."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds, without those of the calls inside."""
        if not self._is_counted:
            return 0
        return self.cpu_time_total - sum([c.cpu_time_total for c in self.cpu_children])

    @property
    def key(self) -> str:
        """What events are grouped by."""
        return self.name

    def __repr__(self) -> str:
        device = self.use_device
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} "
            f"{device}_time={self.device_time_str} name={self.name} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


# what an average takes over from the first event that is added to it
_FACTS = (
    *("key", "node_id", "is_async", "is_remote", "cpu_parent", "cpu_children", "overload_name"),
    *("input_shapes", "stack", "scope", "device_type", "is_legacy", "use_device"),
    "is_user_annotation",
)
# what it adds up
_SUMS = (
    *("cpu_time_total", "device_time_total", "self_cpu_time_total", "self_device_time_total"),
    *("cpu_memory_usage", "device_memory_usage", "self_cpu_memory_usage"),
    *("self_device_memory_usage", "count"),
)


class FunctionEventAvg(FormattedTimesMixin):
    """The events of one key together: times and memory are sums, `cpu_time` is the average."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: str | None = None
        self.cpu_time_total: float = 0
        self.device_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.self_device_time_total: float = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: Any = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: Any = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.flops: int | None = 0

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Take in one more event of the same key."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in _FACTS:
                setattr(self, name, getattr(other, name, False))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if self.flops is None:
            self.flops = other.flops
        elif other.flops is not None:
            self.flops += other.flops
        return self

    def __iadd__(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        return self.add(other)

    def __repr__(self) -> str:
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )


class EventList(list[Any]):
    """Events or averages, with the ways to look at them."""

    def __init__(
        self,
        events: Iterable[object] = (),
        *,
        use_device: str | None = None,
        profile_memory: bool = False,
        with_flops: bool = False,
    ) -> None:
        super().__init__(events)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def __str__(self) -> str:
        return self.table()

    # ------------------------------------------------------------------ who called whom

    def _build_tree(self) -> None:
        self._populate_cpu_children()
        self._remove_dup_nodes()
        self._set_backward_stacktraces()
        self._tree_built = True

    def _populate_cpu_children(self) -> None:
        """Find the events inside others: those of one thread whose time lies within theirs."""
        timed = [e for e in self if not e.is_async and e.device_type == DeviceType.CPU]

        def order(event: FunctionEvent) -> tuple[Any, ...]:
            times = event.time_range
            return event.thread, event.node_id, times.start, -times.end

        timed.sort(key=order)
        for _, events in groupby(timed, key=lambda event: (event.thread, event.node_id)):
            around: list[FunctionEvent] = []
            for event in events:
                times = event.time_range
                while around:
                    outer = around[-1].time_range
                    if times.start < outer.end and times.end <= outer.end:
                        break
                    around.pop()
                if around:
                    if event.cpu_parent is not None:
                        raise AssertionError(f"There is already a CPU parent event for {event.key}")
                    around[-1].append_cpu_child(event)
                    event.set_cpu_parent(around[-1])
                around.append(event)

    def _remove_dup_nodes(self) -> None:
        """An event whose only child has its own name stands for both."""

        def repeats(event: FunctionEvent) -> bool:
            parent = event.cpu_parent
            return (
                parent is not None and parent.name == event.name and len(parent.cpu_children) == 1
            )

        while True:
            repeated = [event for event in self if repeats(event)]
            if not repeated:
                return
            for event in repeated:
                parent = event.cpu_parent
                parent.cpu_children = event.cpu_children
                parent.kernels = event.kernels
                for child in event.cpu_children:
                    child.cpu_parent = parent
            gone = {id(event) for event in repeated}
            self[:] = [event for event in self if id(event) not in gone]

    def _set_backward_stacktraces(self) -> None:
        """Backward events show the place in the forward pass that they belong to."""
        forward: dict[tuple[int, int | None], Any] = {}
        inside = [(event, _backward_around(event)) for event in self]
        for event, backward in inside:
            if backward is None and event.stack is not None:
                forward.setdefault((event.sequence_nr, event.thread), event.stack)
        for event, backward in inside:
            if backward is not None:
                event.stack = forward.get((backward.sequence_nr, backward.fwd_thread), [])

    # ------------------------------------------------------------------ views of it

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each without the calls inside it."""
        times: list[float] = [event.self_cpu_time_total for event in self]
        return sum(times)

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The events as a table.

        sort_by                an attribute, such as ``self_cpu_time_total``; the largest come first
        row_limit              how many rows; all of them if negative
        top_level_events_only  leave out what was called by something else in the table
        time_unit              "s", "ms" or "us" for all times
        """
        return build_table(
            self,
            sort_by=sort_by,
            header=header,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            with_flops=self._with_flops,
            profile_memory=self._profile_memory,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write the events for the viewer at ``chrome://tracing``."""
        entries = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions",
                "args": {},
            }
            for event in self
            if event.trace_name is not None
        ]
        with open(path, "w") as file:
            json.dump(entries, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can write."""
        devices = ("cpu", "cuda", "xpu", "privateuse1")
        return [f"self_{device}_time_total" for device in devices]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write one line per event with a stack: its entries, the outermost first, and a number."""
        if metric not in self.supported_export_stacks_metrics():
            known = self.supported_export_stacks_metrics()
            raise ValueError(f"metric should be one of: {known}")
        replaced = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                value = int(getattr(event, device_name(metric)))
                if event.stack and value > 0:
                    entries = [entry.translate(replaced) for entry in reversed(event.stack)]
                    file.write(f"{';'.join(entries)} {value}\n")

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name (and shapes, and place in the program, if asked) together."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        groups: dict[Any, FunctionEventAvg] = defaultdict(FunctionEventAvg)
        for event in self:
            key: list[Any] = [event.key, event.node_id, event.device_type, event.is_legacy]
            key.append(event.is_user_annotation)
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += event.stack[:group_by_stack_n]
            groups[tuple(key)].add(event)
        for average in groups.values():
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
            if not group_by_overload_name:
                average.overload_name = ""
        return EventList(
            groups.values(),
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )

    def total_average(self) -> FunctionEventAvg:
        """All events together, under the key ``Total``."""
        total = FunctionEventAvg()
        for event in self:
            total += event
            total.key = None
        total.key = "Total"
        return total


def _backward_around(event: FunctionEvent | None) -> FunctionEvent | None:
    """The backward node that an event belongs to."""
    while event is not None and event.scope != 1:
        event = event.cpu_parent
    return event


class StringTable(defaultdict[str, str]):
    """Names as they are shown: here, as they are."""

    def __missing__(self, key: str) -> str:
        self[key] = key
        return key


class MemRecordsAcc:
    """Records of memory, found by time; each is a sequence whose first entry has `start_ns`."""

    def __init__(self, mem_records: Iterable[Any]) -> None:
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())

    def in_interval(self, start_ns: int, end_ns: int) -> Iterator[Any]:
        """The records between two times."""
        for record in self._records:
            if start_ns <= record[0].start_ns() <= end_ns:
                yield record
