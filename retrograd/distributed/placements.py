"""How tensors lie in several processes: can be described, and not used."""

from dataclasses import dataclass


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
