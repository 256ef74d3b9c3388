"""Optimizers whose state is split over processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.optim",
        "there is one process; use the optimizer itself",
        functions="as_functional_optim",
        classes="""
        DistributedOptimizer PostLocalSGDOptimizer ZeroRedundancyOptimizer
        """,
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
