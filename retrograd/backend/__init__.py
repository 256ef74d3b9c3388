"""Array libraries, one object for each type of device: all that knows how numbers are stored.

    xp = backend_of(array).xp        the functions that kernels call
    m = backend_of(array).raw        the ops on arrays, which derivative rules call

`device` says what a backend is, `cpu` is the one for NumPy, `neutral` has the functions that array
libraries lack, written once for all of them, and `kernels` compiled code for the CPU.
"""

from retrograd.backend.cpu import CPU
from retrograd.backend.device import (
    BACKENDS,
    NAMED,
    Backend,
    apart,
    backend_of,
    can_write,
    is_array,
    register,
    xp_of,
)
from retrograd.backend.memory import keep_freed_memory

MEMORY_KEPT = keep_freed_memory()
"""Whether freed blocks stay in the process for reuse; see `backend.memory`."""

__all__ = [
    "BACKENDS",
    "CPU",
    "MEMORY_KEPT",
    "NAMED",
    "Backend",
    "apart",
    "backend_of",
    "can_write",
    "is_array",
    "register",
    "xp_of",
]
