"""The profiler with a schedule: record some steps of a long run, and hand out each trace.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated
from retrograd.autograd.profiler import DeviceType as DeviceType
from retrograd.autograd.profiler import KinetoStepTracker as KinetoStepTracker
from retrograd.autograd.profiler import ProfilerActivity as ProfilerActivity
from retrograd.autograd.profiler import kineto_available as kineto_available
from retrograd.autograd.profiler import record_function as record_function
from retrograd.profiler.profiler import ProfilerAction as ProfilerAction
from retrograd.profiler.profiler import _KinetoProfile as _KinetoProfile
from retrograd.profiler.profiler import profile as profile
from retrograd.profiler.profiler import schedule as schedule
from retrograd.profiler.profiler import supported_activities as supported_activities
from retrograd.profiler.profiler import tensorboard_trace_handler as tensorboard_trace_handler

@deprecated("Not supported: it records PyTorch's own operators for replay.")
def ExecutionTraceObserver(*args: object, **options: object) -> NoReturn: ...
