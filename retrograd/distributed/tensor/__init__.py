"""Tensors split over processes: refused."""

from dataclasses import dataclass
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
        classes="DTensor",
    )
)


class Placement:
    """How a tensor lies in several processes: can be described, and not used."""


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part, along one dimension."""

    dim: int


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has all of it."""


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a term of it."""

    reduce_op: str = "sum"


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
