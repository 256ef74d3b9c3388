"""`torch.utils.data._utils.worker`: what a worker knows, under PyTorch's own path."""

from typing import Any

from retrograd.namespaces import missing
from retrograd.utils.data import information
from retrograd.utils.data.information import WorkerInfo as WorkerInfo
from retrograd.utils.data.information import get_worker_info as get_worker_info


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words that seed NumPy's random numbers in a worker."""
    from retrograd.utils.data.worker import numpy_state

    return numpy_state(base_seed, worker_id)


def __getattr__(name: str) -> Any:
    if name == "_worker_info":  # it changes in a worker
        return information._worker_info
    raise missing(__name__, name, globals())
