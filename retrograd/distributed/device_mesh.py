"""Processes in rows and columns: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.device_mesh",
        "there is one process; leave the mesh out",
        functions="init_device_mesh",
        classes="DeviceMesh",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
