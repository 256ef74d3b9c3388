"""How long a process waits for the others, by default."""

from typing import Any

from retrograd.distributed.group import default_pg_timeout as default_pg_timeout
from retrograd.namespaces import missing

default_pg_nccl_timeout = None

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
