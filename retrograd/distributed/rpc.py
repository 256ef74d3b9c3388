"""Functions of other processes: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.rpc",
        "there is one process; call the function itself",
        functions="get_worker_info init_rpc remote rpc_async rpc_sync shutdown",
        classes="RRef TensorPipeRpcBackendOptions WorkerInfo",
    )
)


def is_available() -> bool:
    """Whether functions of other processes can be called: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
