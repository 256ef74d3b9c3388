"""Meta's accelerators, as seen from a program that runs on the CPU: absent.

>>> import retrograd as torch
>>> torch.mtia.is_available(), torch.mtia.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.mtia",
        "there is no MTIA device; ask torch.mtia.is_available() first",
        functions="""
        attach_out_of_memory_observer current_device current_stream default_stream device
        empty_cache get_device_capability get_device_properties get_rng_state graph
        graph_pool_handle init initial_seed set_device set_rng_state set_rng_state_all set_stream
        snapshot stream synchronize
        """,
        classes="MTIAGraph",
    )
)


def is_available() -> bool:
    """Whether an MTIA device can be used: no."""
    return False


def is_initialized() -> bool:
    """Whether MTIA was started: no."""
    return False


def device_count() -> int:
    """The number of MTIA devices: 0."""
    return 0


def manual_seed(seed: int) -> None:
    """Seed the generator of the device; without one there is nothing to do."""


def manual_seed_all(seed: int) -> None:
    """Seed the generators of all devices; without one there is nothing to do."""


def get_rng_state_all() -> list[Any]:
    """The states of the generators: none."""
    return []


def memory_allocated(device: Any = None) -> int:
    """Bytes of device memory: 0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of device memory: 0."""
    return 0


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Counters of the allocator: none."""
    return {}


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
