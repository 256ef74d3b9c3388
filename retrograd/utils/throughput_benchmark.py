"""Measuring a model in many threads: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.utils.throughput_benchmark",
        "use torch.utils.benchmark.Timer, or Python's timeit",
        classes="ExecutionStats ThroughputBenchmark",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
