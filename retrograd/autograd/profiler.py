"""Where a program spends its time: ops, backward nodes, and blocks that the user names.

>>> import retrograd as torch
>>> x = torch.ones(3, requires_grad=True)
>>> with torch.autograd.profiler.profile() as prof:
...     with torch.autograd.profiler.record_function("loss"):
...         y = (x * 2).sum()
...     y.backward()
>>> [event.name for event in prof.function_events][:3]
['loss', 'aten::mul', 'aten::sum']

Times are wall time. They are those of the general path, which ops take while a profiler runs, so
small tensors look slower than they are without one.
"""

from __future__ import annotations

import enum
import functools
import json
import os
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from retrograd.autograd.profiler_util import DeviceType as DeviceType
from retrograd.autograd.profiler_util import EventList as EventList
from retrograd.autograd.profiler_util import FunctionEvent as FunctionEvent
from retrograd.autograd.profiler_util import FunctionEventAvg as FunctionEventAvg
from retrograd.autograd.profiler_util import Interval as Interval
from retrograd.autograd.profiler_util import MemRecordsAcc as MemRecordsAcc
from retrograd.autograd.profiling import recorder as recording
from retrograd.autograd.profiling.flops import flops_of
from retrograd.autograd.profiling.recorder import CURRENT, USER, Record, Recorder, stack_entry
from retrograd.lifecycle.site import user_level
from retrograd.marks import differs, unsupported
from retrograd.namespaces import from_table

if TYPE_CHECKING:
    from retrograd.namespaces.more.autograd_profiler import *  # noqa: F403


class ProfilerActivity(enum.Enum):
    """What can be profiled; here it is the CPU."""

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class ProfilerState(enum.Enum):
    """The kinds of profilers that PyTorch has."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4
    PRIVATEUSE1 = 5
    KINETO = 6
    KINETO_GPU_FALLBACK = 7
    KINETO_PRIVATEUSE1_FALLBACK = 8
    KINETO_PRIVATEUSE1 = 9


@differs("True although there is no Kineto: its interface, `torch.profiler`, works")
def kineto_available() -> bool:
    """Whether `torch.profiler` can be used.

    >>> kineto_available()
    True
    """
    return True


def _supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


def _profiler_enabled() -> bool:
    """Whether a profiler is running in this thread."""
    return CURRENT.recorder is not None


class _ProfilerResult:
    """What a session recorded; `save` writes it for trace viewers."""

    def __init__(self, recorder: Recorder, records: list[Record], trace_id: str) -> None:
        self.recorder = recorder
        self.records = records
        self.trace_id = trace_id
        self.metadata: dict[str, str] = {}

    def trace_start_ns(self) -> int:
        return self.recorder.trace_start

    def save(self, path: str) -> None:
        """Write a JSON file in the format of Chrome's trace viewer and of Perfetto."""
        import socket

        recorder, process = self.recorder, os.getpid()
        place = {"pid": process, "tid": recorder.native_thread}
        entries: list[dict[str, Any]] = [
            {"ph": "M", "name": "process_name", "ts": 0, **place, "args": {"name": "python"}},
            {"ph": "M", "name": "process_labels", "ts": 0, **place, "args": {"labels": "CPU"}},
        ]
        for index, record in enumerate(self.records):
            facts: dict[str, Any] = {"External id": index + 1}
            if record.sequence >= 0:
                facts["Sequence number"] = record.sequence
                facts["Fwd thread id"] = record.forward_thread
            if recorder.shapes and record.shapes:
                facts["Input Dims"] = record.shapes
                facts["Input Strides"] = record.strides
                facts["Input type"] = record.kinds
            entries.append(
                {
                    "ph": "X",
                    "cat": "user_annotation" if record.scope == USER else "cpu_op",
                    "name": record.name,
                    **place,
                    "ts": (record.start - recorder.trace_start) / 1000,
                    "dur": (record.end - record.start) / 1000,
                    "args": {**facts, "Ev Idx": index},
                }
            )
        trace = {
            "schemaVersion": 1,
            "deviceProperties": [],
            **{name: json.loads(text) for name, text in self.metadata.items()},
            "trace_id": self.trace_id,
            "host_name": socket.gethostname(),
            "displayTimeUnit": "ms",
            "baseTimeNanoseconds": recorder.wall_start,
            "traceEvents": entries,
            "traceName": str(path),
        }
        with open(path, "w") as file:
            json.dump(trace, file)


@differs(
    "memory is the bytes of results, not of what was allocated and freed; with_stack gives the "
    "user's lines in `stack` instead of events for Python functions; events inside ops are fewer"
)
class profile:
    """A context manager that records what runs inside it, in this thread.

    enabled         False makes it do nothing
    record_shapes   shapes, strides, types and values of arguments
    profile_memory  bytes of the results that ops make
    with_stack      the user's lines that led to each op
    with_flops      floating point operations of products and 2d convolutions (records shapes)
    acc_events      keep the events of earlier sessions (`torch.profiler` starts several)

    `use_device` and `use_cuda` warn and have no effect, since there is only the CPU.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: object = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: object = None,
    ) -> None:
        self.enabled = enabled
        if not enabled:
            return
        if experimental_config is not None:
            unsupported("experimental_config", "it sets up Kineto, which is not here")()
        self.use_cuda = use_cuda
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, please use "
                "``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=user_level(),
            )
            use_device = "cuda"
        self.entered = False
        self.record_shapes = record_shapes or with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.activity_filters = activity_filters or {}
        self.trace_id = ""
        self.kineto_results: _ProfilerResult | None = None
        self.profiling_start_time_ns = 0
        self.profiling_end_time_ns = 0
        self._recorder: Recorder | None = None
        self._function_events: EventList | None = None
        self._old_function_events: EventList | None = None
        self._needs_processing = False
        if not use_cpu and not use_kineto:
            raise AssertionError("Device-only events supported only with Kineto (use_kineto=True)")
        self.use_device = None
        if use_device is not None:
            warnings.warn(_no_device(use_device), stacklevel=user_level())
            self.use_cuda = False
        self.kineto_activities = {ProfilerActivity.CPU} if use_cpu else set()
        if not self.kineto_activities:
            raise AssertionError("No activities specified for the profiler")
        self.profiler_kind = ProfilerState.KINETO
        if post_processing_timeout_s is not None and post_processing_timeout_s < 0:
            raise ValueError("post_processing_timeout_s must be non-negative")

    # ------------------------------------------------------------------ the session

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self) -> None:
        self.entered = True
        self.trace_id = self.create_trace_id()

    def _start_trace(self) -> None:
        self.entered = True
        self._recorder = Recorder(
            shapes=self.record_shapes, memory=self.profile_memory, stack=self.with_stack
        )
        recording.start(self._recorder)
        self.profiling_start_time_ns = self._recorder.trace_start

    def __exit__(self, kind: object, value: object, traceback: object) -> bool | None:
        if not self.enabled:
            return None
        if self._function_events and self.acc_events:
            self._old_function_events = self._function_events
        self._function_events = None
        self._needs_processing = True
        recorder = self._recorder
        assert recorder is not None
        records = recorder.records
        if not recording.stop(recorder):
            records = []
            warnings.warn(
                "disableProfiler called but no active profiling session found. This can happen "
                "if profiling was cancelled during warmup.",
                stacklevel=user_level(),
            )
        self.profiling_end_time_ns = recorder.trace_end
        self.kineto_results = _ProfilerResult(recorder, records, self.trace_id)
        if self.acc_events:
            self._ensure_function_events()
        return False

    def default_trace_id(self) -> str:
        """A new random name of a trace."""
        import uuid

        return f"{uuid.uuid4().int:032X}"

    def create_trace_id(self) -> str:
        """The name of the next trace."""
        if self.custom_trace_id_callback:
            return self.custom_trace_id_callback()
        return self.default_trace_id()

    def toggle_collection_dynamic(
        self, enabled: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Pause recording, or go on with it, inside the session."""
        if ProfilerActivity.CPU in set(activities) and self._recorder is not None:
            recording.pause(self._recorder, not enabled)

    # ------------------------------------------------------------------ the results

    def _ensure_function_events(self) -> None:
        if self._function_events is not None:
            return
        self._needs_processing = False
        found: list[FunctionEvent] = []
        if self.kineto_results is not None:
            found = _events_of(self.kineto_results, self.with_flops)
        self._function_events = EventList(
            found, profile_memory=self.profile_memory, with_flops=self.with_flops
        )
        self._function_events._build_tree()
        if self._old_function_events and self.acc_events:
            self._function_events.extend(self._old_function_events)
            self._old_function_events = None

    @property
    def function_events(self) -> EventList:
        """The events, in the order in which they began."""
        self._ensure_function_events()
        assert self._function_events is not None
        return self._function_events

    def __repr__(self) -> str:
        if self._needs_processing:
            self._ensure_function_events()
        if self._function_events is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self._function_events)

    def __str__(self) -> str:
        if self._needs_processing:
            self._ensure_function_events()
        if self._function_events is None:
            return "<unfinished torch.autograd.profile>"
        return str(self._function_events)

    @functools.wraps(EventList.table)
    def table(self, *args: Any, **options: Any) -> str:
        return self.function_events.table(*args, **options)

    def export_chrome_trace(
        self, path: str, metadata: dict[str, str] | None = None, use_python_export: bool = False
    ) -> None:
        """Write the trace of the last session as JSON, for ``chrome://tracing`` or Perfetto."""
        results: Any = self.kineto_results
        if results is not None and metadata:
            results.metadata.update(metadata)
        results.save(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of events with their times, for a flame graph."""
        self._ensure_function_events()
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self.function_events.export_stacks(path, metric)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name together."""
        return self.function_events.key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self) -> FunctionEventAvg:
        """All events together."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, each without the calls inside it."""
        return self.function_events.self_cpu_time_total


def _no_device(name: str) -> str:
    known = {"cuda": "CUDA", "xpu": "XPU", "hpu": "HPU"}
    if name in known:
        return f"{known[name]} is not available, disabling {known[name]} profiling"
    return f"The {name} is not a valid device option."


def _events_of(result: _ProfilerResult, with_flops: bool) -> list[FunctionEvent]:
    """A session's records as events."""
    recorder = result.recorder
    events = []
    for number, record in enumerate(result.records, 1):
        is_step = record.name.startswith("ProfilerStep#")
        shapes = [
            [] if kind == "TensorList" else shape
            for shape, kind in zip(record.shapes, record.kinds, strict=True)
        ]
        events.append(
            FunctionEvent(
                id=number,
                name="ProfilerStep*" if is_step else record.name,
                trace_name=record.name,
                overload_name="",
                thread=recorder.thread,
                start_us=(record.start - recorder.trace_start) / 1000,
                end_us=(record.end - recorder.trace_start) / 1000,
                fwd_thread=record.forward_thread,
                input_shapes=shapes,
                structured_input_shapes=record.shapes,
                structured_input_strides=record.strides,
                input_dtypes=record.kinds,
                concrete_inputs=record.concrete,
                kwinputs={},
                stack=[stack_entry(code, line) for code, line in record.stack],
                scope=record.scope,
                cpu_memory_usage=record.memory,
                sequence_nr=record.sequence,
                flops=flops_of(record) if with_flops else 0,
                is_user_annotation=record.scope == USER,
                activity_type="user_annotation" if record.scope == USER else "cpu_op",
            )
        )
    return events


class record_function:
    """Names a block (or, as a decorator, a function) in the profiler's results.

    >>> @torch.autograd.profiler.record_function("step")
    ... def step():
    ...     return torch.ones(2) + 1
    >>> with torch.autograd.profiler.profile() as prof:
    ...     result = step()
    >>> prof.function_events[0].name
    'step'
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self.record: tuple[Recorder | None, Record | None] | None = None

    def __enter__(self) -> record_function:
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for "
                f"argument 'name' but instead found type '{type(self.name).__name__}'."
            )
        recorder = CURRENT.recorder
        record = None if recorder is None else recorder.begin(self.name, USER)
        self.record = (recorder, record)
        return self

    def __exit__(self, kind: object, value: object, traceback: object) -> None:
        if self.record is None:
            raise AssertionError("Expected record to be set")
        recorder, record = self.record
        if recorder is not None and record is not None:
            recorder.end(record)

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: object, **options: object) -> Any:
            with self.__class__(self.name, self.args):
                return function(*args, **options)

        return inner


class EnforceUnique:
    """Raises if a key is seen twice."""

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: object) -> None:
        """Note a key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """How many steps those who report them have made; the one that is furthest counts."""

    _current_step = 0
    _step_dict: ClassVar[dict[str, int]] = defaultdict(int)

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Start counting for a requester, from the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Stop counting for it; whether it was counted."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step of a requester; returns the current step."""
        if requester not in cls._step_dict:
            cls.init_step_count(requester)
        cls._step_dict[requester] += 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The current step."""
        return cls._current_step


from_table(__name__)
