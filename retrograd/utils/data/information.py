"""What a worker process knows about itself; apart, so that asking needs no multiprocessing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """What a worker process knows about itself: see `get_worker_info`."""

    id: int
    num_workers: int
    seed: int
    dataset: object
    rng: object = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


def set_worker_info(info: WorkerInfo) -> None:
    """Called once, at the start of a worker process."""
    global _worker_info
    _worker_info = info


def get_worker_info() -> WorkerInfo | None:
    """In a worker of a loader: its `id`, `num_workers`, `seed` and `dataset`; otherwise None.

    >>> print(torch.utils.data.get_worker_info())
    None
    """
    return _worker_info
