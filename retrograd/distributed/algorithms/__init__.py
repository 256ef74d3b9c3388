"""Ways of several processes to train one model: refused."""

from typing import Any

from retrograd.distributed.algorithms import join as join
from retrograd.namespaces import missing


def __getattr__(name: str) -> Any:
    if name in ("Join", "JoinHook", "Joinable"):
        return getattr(join, name)
    raise missing(__name__, name, globals())
