"""Processes with different numbers of batches: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.algorithms.join",
        "there is one process; leave it out",
        classes="Join JoinHook Joinable",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
