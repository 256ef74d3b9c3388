"""The profiler with a schedule: record some steps of a long run, and hand out each trace.

>>> import retrograd as torch
>>> def show(prof):
...     print(prof.step_num, [event.key for event in prof.key_averages()])
>>> plan = torch.profiler.schedule(wait=1, warmup=1, active=1, repeat=1)
>>> x = torch.ones(2)
>>> with torch.profiler.profile(schedule=plan, on_trace_ready=show) as prof:
...     for step in range(4):
...         y = x * 2
...         prof.step()
3 ['ProfilerStep*', 'aten::mul']
"""

from retrograd.autograd.profiler import DeviceType as DeviceType
from retrograd.autograd.profiler import KinetoStepTracker as KinetoStepTracker
from retrograd.autograd.profiler import ProfilerActivity as ProfilerActivity
from retrograd.autograd.profiler import kineto_available as kineto_available
from retrograd.autograd.profiler import record_function as record_function
from retrograd.namespaces import from_table
from retrograd.profiler.profiler import ProfilerAction as ProfilerAction
from retrograd.profiler.profiler import _KinetoProfile as _KinetoProfile
from retrograd.profiler.profiler import profile as profile
from retrograd.profiler.profiler import schedule as schedule
from retrograd.profiler.profiler import supported_activities as supported_activities
from retrograd.profiler.profiler import tensorboard_trace_handler as tensorboard_trace_handler

from_table(__name__)
