"""The words of `torch.distributed`: backends, ways to reduce, errors."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum

__all__ = [
    *("Backend", "DebugLevel", "DistBackendError", "DistError", "DistNetworkError"),
    *("DistStoreError", "QueueEmptyError", "ReduceOp", "default_pg_timeout", "supports_complex"),
]

default_pg_timeout = timedelta(seconds=1800)


class ReduceOp(IntEnum):
    """How the tensors of all processes become one.

    >>> torch.distributed.ReduceOp.SUM
    <RedOpType.SUM: 0>
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __repr__(self) -> str:
        return f"<RedOpType.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


# PyTorch has the operation and the enumeration of its kinds apart; the members are the same.
ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]


class Backend(str):
    """The name of a way to reach other processes, in lower case.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED = "undefined"
    GLOO = "gloo"
    NCCL = "nccl"
    UCC = "ucc"
    MPI = "mpi"
    XCCL = "xccl"
    backend_list = (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, "fake")

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(f"Backend constructor parameter must be string-ish: {name}")
        return super().__new__(cls, name.lower())


class DebugLevel(IntEnum):
    """How much PyTorch checks and tells about processes."""

    OFF = 0
    INFO = 1
    DETAIL = 2


class DistError(RuntimeError):
    """Something between processes failed."""


class DistBackendError(DistError):
    """The way to other processes failed."""


class DistNetworkError(DistError):
    """The network failed."""


class DistStoreError(DistError):
    """The store of shared values failed."""


class QueueEmptyError(DistStoreError):
    """Nothing is in a queue of a store."""


def supports_complex(reduceOp: object) -> bool:
    """Whether complex tensors can be reduced in this way."""
    unordered = (ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PRODUCT)
    return reduceOp not in (*unordered, ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR)
