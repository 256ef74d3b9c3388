"""Whether a profiler is running, for the engine: it must not import the profiler itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Profiler:
    """The profiler's place in the engine: while `active` is not 0, nodes run through `run_node`."""

    active: int = 0  # sessions that are running, in all threads
    # (node, gradient, call, live, as_tensors) -> the gradients of the node's inputs
    run_node: Callable[..., Any]


PROFILER = _Profiler()
