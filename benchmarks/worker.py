"""The process that runs workloads on one module: requests on stdin, replies on stdout.

    python -m benchmarks.worker retrograd [FOLDER]
    {"do": "time", "workload": "add", "iterations": 1000}
    {"seconds": 0.00091}

One JSON object per line. The first reply, before any request, says which module was loaded. With a
folder the module comes from there (another checkout of retrograd); the workloads are always these.
"""

import gc
import importlib
import json
import os
import sys
import time
from typing import Any

import numpy

from benchmarks.memory import peaks
from benchmarks.runner import UNTOLD
from benchmarks.twins.running import Started
from benchmarks.workloads import EVERY

THREADS = int(os.environ.get("OMP_NUM_THREADS", "1"))

BY_CLOCK = THREADS > 1 or "BENCHMARK_BY_CLOCK" in os.environ
"""Whether others than this thread work for the steps: its processor time would say too little."""

CHECKED_STEPS = 5
"""How many steps run before values are compared: enough for an optimizer's state to matter."""

CHECKED_ELEMENTS = 500
"""Large tensors are compared at about this many evenly spaced places."""


REPLAY = "BENCHMARK_REPLAY" in os.environ
"""Whether steps run from a plan: `repeated`."""

FIRST_REPLAYED = 6
"""A step that can run from a plan does so after fewer calls."""


def repeated(torch: Any, step: Any) -> Any:
    """The step as it is measured: with ``--replay`` from a plan."""
    return torch.replay(step) if REPLAY else step


def numbers(tensor: Any, tolerance: float = 0.0) -> dict[str, Any] | None:
    """Shape, dtype and a sample of the values of a tensor or a number, as plain data."""
    if tensor is None:
        return None
    array = numpy.asarray(tensor.detach().numpy() if hasattr(tensor, "detach") else tensor)
    flat = array.reshape(-1)
    sample = flat[:: max(1, flat.size // CHECKED_ELEMENTS)]
    facts = {"shape": list(array.shape), "dtype": str(array.dtype), "values": sample.tolist()}
    return {**facts, "tolerance": tolerance} if tolerance else facts


def values_after_steps(torch: Any, name: str) -> list[dict[str, Any] | None]:
    """The result of the last step, the leaves and their gradients.

    A step of JAX that updates its parameters keeps the gradients to itself: they are `UNTOLD`.
    """
    if torch.__name__ == "jax":
        return values_of_twin(torch, name)
    prepared = EVERY[name].prepare(torch)
    step = repeated(torch, prepared.step)
    for _ in range(CHECKED_STEPS):
        result = step()
    tensors = [result, *prepared.leaves, *(leaf.grad for leaf in prepared.leaves)]
    return [numbers(tensor) for tensor in tensors]


def values_of_twin(jax: Any, name: str) -> list[dict[str, Any] | None]:
    started = Started(jax, name)
    for _ in range(CHECKED_STEPS):
        last = started.step()
    result, leaves, gradients = started.values(last)
    told = [
        numbers(tensor, tolerance=started.twin.tolerance)
        for tensor in (result, *leaves, *(gradients or ()))
    ]
    return [*told, *(UNTOLD for _ in leaves)] if gradients is None else told


def seconds_for(torch: Any, name: str, iterations: int) -> float:
    """Time of `iterations` steps of a freshly prepared workload.

    Processor time, which other programs do not stretch; with several threads or processes, that of
    a clock.

    Preparing anew makes every round do the same work; the first steps, which fill caches and
    create optimizer state, are not counted. The garbage collector stays on, as in a program.
    """
    if torch.__name__ == "jax":
        step = Started(torch, name).step
    else:
        step = repeated(torch, EVERY[name].prepare(torch).step)
    for _ in range((FIRST_REPLAYED if REPLAY else 2) + iterations // 10):
        step()
    gc.collect()
    clock = time.perf_counter if BY_CLOCK else time.process_time
    started = clock()
    for _ in range(iterations):
        step()
    return clock() - started


def why_not_replayed(torch: Any, name: str) -> str | None:
    step = torch.replay(EVERY[name].prepare(torch).step)
    for _ in range(FIRST_REPLAYED):
        step()
    return None if step.replayed else "; ".join(step.reasons) or "recordings are still compared"


def answer(torch: Any, request: dict[str, Any]) -> dict[str, Any]:
    try:
        if request["do"] == "values":
            return {"values": values_after_steps(torch, request["workload"])}
        if request["do"] == "memory":
            return {"peaks": peaks(torch, request["workload"])}
        if request["do"] == "replay":
            return {"reason": why_not_replayed(torch, request["workload"])}
        return {"seconds": seconds_for(torch, request["workload"], request["iterations"])}
    except Exception as error:
        # The report of a retrograd error is in its notes; one line is enough for a table.
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}


def main() -> None:
    # Replies keep the real stdout to themselves; what a library prints goes to stderr.
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    sys.path[:0] = sys.argv[2:]
    module = importlib.import_module(sys.argv[1])
    if hasattr(module, "set_num_threads"):
        module.set_num_threads(THREADS)
    version = str(getattr(module, "__version__", "unknown"))
    print(json.dumps({"file": module.__file__, "version": version}), file=replies)
    for line in sys.stdin:
        print(json.dumps(answer(module, json.loads(line))), file=replies)


if __name__ == "__main__":
    main()
