"""Several processes with one model: here there is one, and its group works as a group of one.

>>> import retrograd as torch
>>> torch.distributed.is_available(), torch.distributed.is_initialized()
(True, False)
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

from retrograd.compat.marks import refusing
from retrograd.distributed import collectives as _collectives
from retrograd.distributed import group as _group
from retrograd.namespaces import missing

_WHY = "there is one process; leave it out"
_LAZY = frozenset(
    """
    algorithms checkpoint device_mesh distributed_c10d elastic fsdp nn optim pipelining rpc tensor
    """.split()
)

for _module in (_group, _collectives):
    globals().update({name: getattr(_module, name) for name in _module.__all__})
reduce_op = _group.ReduceOp

globals().update(
    refusing(
        "torch.distributed",
        _WHY,
        functions="""
        batch_isend_irecv init_device_mesh new_subgroups new_subgroups_by_enumeration
        recv_object_list register_rendezvous_handler rendezvous send_object_list shrink_group
        split_group
        """,
        classes="""
        BackendConfig DeviceMesh FileStore GradBucket HashStore P2POp PrefixStore ProcessGroupGloo
        Reducer Store TCPStore
        """,
    )
)


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return _import_module(f"retrograd.distributed.{name}")
    raise missing(__name__, name, globals())
