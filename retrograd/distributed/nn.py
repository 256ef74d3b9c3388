"""Exchange between processes with gradients: refused."""

from typing import Any

from retrograd.compat.marks import refusing
from retrograd.namespaces import missing

globals().update(
    refusing(
        "torch.distributed.nn",
        "there is one process; leave the exchange out",
        functions="""
        all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce
        reduce_scatter scatter
        """,
        classes="RemoteModule",
    )
)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
