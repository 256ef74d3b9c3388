"""`torch.profiler.profile`: sessions of the autograd profiler, started and ended by a schedule."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from retrograd.autograd import profiler as sessions
from retrograd.autograd.profiler import KinetoStepTracker, ProfilerActivity
from retrograd.autograd.profiler_util import EventList
from retrograd.lifecycle.site import user_level
from retrograd.marks import differs, unsupported
from retrograd.notices import warn_once

PROFILER_STEP_NAME = "ProfilerStep"


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled.

    >>> supported_activities()
    {<ProfilerActivity.CPU: 0>}
    """
    return sessions._supported_activities()


class ProfilerAction(enum.Enum):
    """What the profiler does during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


NONE, WARMUP, RECORD, SAVE, _ = ProfilerAction


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """A schedule of cycles: wait, warm up, record; `repeat` of them, or without end if 0.

    The first `skip_first` steps come before the cycles; with `skip_first_wait` the first cycle
    does not wait.

    >>> plan = schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
            f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
            f"skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results",
            stacklevel=user_level(),
        )
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return NONE
        place = step - skip_first + (wait if skip_first_wait else 0)
        cycle, place = divmod(place, length)
        if (repeat and cycle >= repeat) or place < wait:
            return NONE
        if place < wait + warmup:
            return WARMUP
        return RECORD if place < length - 1 else SAVE

    return action


def _always(step: int) -> ProfilerAction:
    return RECORD


def tensorboard_trace_handler(
    dir_name: str,
    worker_name: str | None = None,
    use_gzip: bool = False,
    use_python_export: bool = False,
) -> Callable[[Any], None]:
    """For ``on_trace_ready``: write each trace into a folder, in a file that names worker and time.

    The files open in TensorBoard's profiler plugin and in Perfetto.
    """

    def write(prof: Any) -> None:
        nonlocal worker_name
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        if not worker_name:
            worker_name = f"{socket.gethostname()}_{os.getpid()}"
        file_name = f"{worker_name}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, file_name))

    return write


def _activities_of(items: Iterable[object]) -> set[ProfilerActivity]:
    """The activities of a list that may hold dictionaries with the names of parts of them."""
    found: list[ProfilerActivity] = []
    for item in items:
        if not isinstance(item, (ProfilerActivity, dict)):
            raise TypeError(f"Expected ProfilerActivity or dict, got {type(item)}")
        for activity in item if isinstance(item, dict) else (item,):
            if activity in found:
                raise ValueError(f"Activity {activity} specified more than once")
            found.append(activity)
    return set(found)


_DEVICES = {
    ProfilerActivity.CUDA: "cuda",
    ProfilerActivity.XPU: "xpu",
    ProfilerActivity.MTIA: "mtia",
    ProfilerActivity.HPU: "hpu",
    ProfilerActivity.PrivateUse1: "privateuseone",
}


class _KinetoProfile:
    """A profiler that is started and stopped by hand, any number of times."""

    def __init__(
        self,
        *,
        activities: Iterable[Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if experimental_config is not None:
            unsupported("experimental_config", "it sets up Kineto, which is not here")()
        self.activities = (
            supported_activities() if activities is None else _activities_of(activities)
        )
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler: sessions.profile | None = None
        devices = [name for activity, name in _DEVICES.items() if activity in self.activities]
        self.use_device = devices[0] if devices else None
        self.preset_metadata: dict[str, str] = {}
        self._trace_metadata: dict[str, str] = {}

    # ------------------------------------------------------------------ sessions

    def start(self) -> None:
        """Begin a session."""
        self.prepare_trace()
        self.start_trace()

    def stop(self) -> None:
        """End it."""
        self.stop_trace()

    def prepare_trace(self) -> None:
        """Get ready for a session; the events of the one before are dropped."""
        if self.profiler is not None and not self.acc_events:
            warn_once(
                "Warning: Profiler clears events at the end of each cycle. Only events from the "
                "current cycle will be reported. To keep events across cycles, set "
                "acc_events=True.",
                user_level(),
            )
        if self.profiler is None or not self.acc_events:
            self.profiler = sessions.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_device=self.use_device,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                use_kineto=True,
                acc_events=self.acc_events,
                custom_trace_id_callback=self.custom_trace_id_callback,
                post_processing_timeout_s=self.post_processing_timeout_s,
            )
        self.profiler._prepare_trace()

    def start_trace(self) -> None:
        """Begin the session that was prepared."""
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        self._session("starting trace")._start_trace()
        for name in ("profile_memory", "with_stack", "record_shapes", "with_modules", "with_flops"):
            if getattr(self, name):
                self.add_metadata_json(name, "1")
        for name, value in self.preset_metadata.items():
            self.add_metadata_json(name, value)

    def stop_trace(self) -> None:
        """End the session."""
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._session("stopping trace").__exit__(None, None, None)

    def _session(self, purpose: str) -> sessions.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def toggle_collection_dynamic(
        self, enable: bool, activities: Iterable[ProfilerActivity]
    ) -> None:
        """Pause recording, or go on with it, inside a session."""
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    # ------------------------------------------------------------------ results

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the last session's trace as JSON; compressed if the name ends in ``.gz``."""
        session = self._session("exporting chrome trace")
        session.export_chrome_trace(path, self._trace_metadata)
        if path.endswith(".gz"):
            import gzip

            with open(path, "rb") as file:
                text = file.read()
            with gzip.open(path, "wb") as packed:
                packed.write(text)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of events with their times, for a flame graph."""
        self._session("exporting stacks").export_stacks(path, metric)

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events of each name together."""
        session = self._session("getting key averages")
        return session.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def events(self) -> EventList:
        """The events, in the order in which they began."""
        return self._session("accessing events").function_events

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace file."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace file."""
        json.loads(value)
        self._trace_metadata[key] = value

    def preset_metadata_json(self, key: str, value: str) -> None:
        """The same, for the sessions that are started from now on."""
        self.preset_metadata[key] = value

    def get_trace_id(self) -> str | None:
        """The name of the last trace."""
        return None if self.profiler is None else self.profiler.trace_id

    def set_custom_trace_id_callback(self, callback: Callable[[], str]) -> None:
        """How to name traces."""
        self.custom_trace_id_callback = callback

    export_memory_timeline = unsupported(
        "torch.profiler.profile.export_memory_timeline", "memory is not followed over time"
    )


@differs(
    "records the CPU through torch.autograd.profiler, and differs as that does; there is no device"
)
class profile(_KinetoProfile):
    """A context manager that records the steps that a schedule picks.

    schedule        called with the number of each step, see `schedule`; None records everything
    on_trace_ready  called with the profiler after each recorded cycle, and at the end

    The other arguments are those of `torch.autograd.profiler.profile`. Without a schedule, `step`
    need not be called.
    """

    def __init__(
        self,
        *,
        activities: Iterable[object] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., object] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: object = None,
        execution_trace_observer: object = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Callable[[], str] | None = None,
        post_processing_timeout_s: float | None = None,
    ) -> None:
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
                stacklevel=user_level(),
            )
        listed = None if activities is None else list(activities)
        known = listed is None or any(isinstance(i, (ProfilerActivity, dict)) for i in listed)
        if not known and not use_cuda:
            raise AssertionError("No valid profiler activities found")
        super().__init__(
            activities=listed,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.schedule = schedule or _always
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.step_rec_fn: sessions.record_function | None = None
        self.current_action = self._planned(0)
        KinetoStepTracker.init_step_count(PROFILER_STEP_NAME)

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, kind: Any, value: object, traceback: TracebackType | None) -> None:
        self.stop()
        KinetoStepTracker.erase_step_count(PROFILER_STEP_NAME)
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self) -> None:
        """Begin the first step."""
        self._change(NONE, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End the last step."""
        self._end_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """A step of the program has ended, the next one begins."""
        self._end_step()
        before = self.current_action
        self.current_action = self._planned(self.step_num + 1)
        self.step_num += 1
        self._change(before, self.current_action)
        self._begin_step()

    def _planned(self, step: int) -> ProfilerAction:
        action = self.schedule(step)
        if action == ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be "
                "returned by a user-provided schedule"
            )
        return action

    def _begin_step(self) -> None:
        if self.record_steps:
            self.step_rec_fn = sessions.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self) -> None:
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Go from one action to the next; `None` is the end."""
        recording = after in (RECORD, SAVE)
        if before is WARMUP and not recording and after is not WARMUP:
            # prepared for nothing: an empty session
            if after is NONE:
                warnings.warn(
                    "Incorrect schedule: WARMUP followed by NONE", stacklevel=user_level()
                )
            self.start_trace()
            self.stop_trace()
        elif before is WARMUP and recording:
            self.start_trace()
        elif before is RECORD and not recording:
            if after is not None:
                name = after.name
                warnings.warn(
                    f"Incorrect schedule: RECORD followed by {name}", stacklevel=user_level()
                )
            self.stop_trace()
            if after is None:
                self._trace_ready()
        elif before in (NONE, SAVE):
            if before is SAVE:
                self.stop_trace()
                self._trace_ready()
            if after is WARMUP or recording:
                self.prepare_trace()
            if recording:
                self.start_trace()

    def _trace_ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)
