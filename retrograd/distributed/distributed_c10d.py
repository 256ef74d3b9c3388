"""The module of PyTorch's where the group and its functions are written."""

from retrograd.distributed.collectives import *  # noqa: F403
from retrograd.distributed.group import *  # noqa: F403
from retrograd.distributed.group import ProcessGroup, require
from retrograd.namespaces import from_table


def _get_default_group() -> ProcessGroup:
    return require()


from_table(__name__)
