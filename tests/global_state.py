"""What the two libraries and the process keep for all tests: each module must leave it as it was.

A mode that a test leaves on changes results of whatever runs after it in the same process, and
which tests these are differs from run to run.
"""

from __future__ import annotations

import gc
import importlib
import os
import sys
import threading
from collections.abc import Sized
from types import ModuleType
from typing import Any

import numpy as np

BOTH = """
get_default_dtype get_default_device is_grad_enabled is_inference_mode_enabled
is_autocast_enabled is_autocast_cache_enabled are_deterministic_algorithms_enabled
is_deterministic_algorithms_warn_only_enabled is_anomaly_enabled is_anomaly_check_nan_enabled
get_num_threads is_warn_always_enabled get_float32_matmul_precision
backends.mha.get_fastpath_enabled overrides._get_current_function_mode_stack
""".split()

# Dictionaries and lists count by their length.
OWN = {
    "retrograd": """
        engine.state.HOT.NO_GRAD engine.state.HOT.UNUSUAL engine.state.TRANSFORMS.active
        engine.state.STATE.depth engine.state.STATE.saved_hooks
        engine.state.STATE.saved_hooks_refused engine.state.STATE.op_modes
        engine.state.STATE.mutation nn.module_hooks.BUFFER_REGISTRATION
        nn.module_hooks.MODULE_REGISTRATION nn.module_hooks.PARAMETER_REGISTRATION
        nn.module_hooks.FORWARD_PRE nn.module_hooks.FORWARD nn.module_hooks.BACKWARD_PRE
        nn.module_hooks.BACKWARD tensors.printing._options
    """.split(),
    "torch": """
        _C._len_torch_function_stack _C._len_torch_dispatch_stack
        _C._autograd._saved_tensors_hooks_is_enabled _C._is_multithreading_enabled
        utils.deterministic.fill_uninitialized_memory _tensor_str.PRINT_OPTS
        __future__.get_overwrite_module_params_on_conversion
        nn.modules.module._global_buffer_registration_hooks
        nn.modules.module._global_module_registration_hooks
        nn.modules.module._global_parameter_registration_hooks
        nn.modules.module._global_forward_pre_hooks nn.modules.module._global_forward_hooks
        nn.modules.module._global_backward_pre_hooks nn.modules.module._global_backward_hooks
    """.split(),
}


def snapshot() -> dict[str, Any]:
    """The state of the libraries that are imported, by name."""
    found: dict[str, Any] = {
        "gc.isenabled": gc.isenabled(),
        "os.getcwd": os.getcwd(),
        "sys.getrecursionlimit": sys.getrecursionlimit(),
        "sys.gettrace": sys.gettrace(),
        "threading.stack_size": threading.stack_size(),
        "numpy.geterr": np.geterr(),
    }
    for library, own in OWN.items():
        module = sys.modules.get(library)
        if module is not None and module.__name__ == library:  # not one under the other's name
            for name in (*BOTH, *own):
                found[f"{library}.{name}"] = _value(module, name)
    return found


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What differs between two states; of a library imported between them nothing is known."""
    return [
        f"{name} was {before[name]!r} and is {value!r}"
        for name, value in after.items()
        if name in before and before[name] != value
    ]


def _value(library: Any, name: str) -> Any:
    value = library
    for part in name.split("."):
        if isinstance(value, ModuleType) and not hasattr(value, part):
            importlib.import_module(f"{value.__name__}.{part}")  # not loaded yet
        value = value[part] if isinstance(value, dict) else getattr(value, part)
    if callable(value):
        value = value()
    if isinstance(value, Sized) and not isinstance(value, str):
        return len(value)
    return value if isinstance(value, int | float | str | None) else str(value)
