"""Settings of PyTorch's compiler. They can be set and read, and change nothing here.

>>> import retrograd as torch
>>> with torch._dynamo.config.patch(suppress_errors=True):
...     torch._dynamo.config.suppress_errors
True
"""

from typing import Any

from retrograd._dynamo.remembered import patcher
from retrograd.namespaces import missing

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = True
automatic_dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = False
capture_scalar_outputs = False
compiled_autograd = False
disable = False
dynamic_shapes = True
error_on_recompile = False
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
optimize_ddp = True
repro_after = None
specialize_float = False
specialize_int = False
suppress_errors = False
verbose = False

patch = patcher(globals())


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
