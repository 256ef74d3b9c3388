"""Tensors split over processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.tensor",
        "there is one process; use an ordinary tensor",
        functions="""
        distribute_module distribute_tensor empty full ones rand randn zeros
        """,
        classes="DTensor Partial Placement Replicate Shard",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
