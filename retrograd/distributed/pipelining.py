"""Models whose layers are in several processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.pipelining",
        "there is one process; use the model itself",
        functions="build_stage pipe_split pipeline",
        classes="""
        Pipe PipelineStage Schedule1F1B ScheduleDualPipeV ScheduleGPipe
        ScheduleInterleaved1F1B ScheduleInterleavedZeroBubble ScheduleLoopedBFS
        ScheduleZBVZeroBubble SplitPoint
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
