"""Measuring: `Timer` runs a statement many times, and its `Measurement` tells how long it took."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing
from retrograd.utils.benchmark.measurement import Measurement as Measurement
from retrograd.utils.benchmark.measurement import TaskSpec as TaskSpec
from retrograd.utils.benchmark.measurement import select_unit as select_unit
from retrograd.utils.benchmark.measurement import unit_to_english as unit_to_english
from retrograd.utils.benchmark.timer import Timer as Timer
from retrograd.utils.benchmark.timer import timer as timer

globals().update(
    refusing(
        "torch.utils.benchmark",
        "print the measurements of Timer themselves",
        classes="""
        CallgrindStats Compare FunctionCount FunctionCounts FuzzedParameter FuzzedSparseTensor
        FuzzedTensor Fuzzer ParameterAlias
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
