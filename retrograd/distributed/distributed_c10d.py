"""The module of PyTorch's where the group and its functions are written."""

from typing import TYPE_CHECKING

from retrograd.distributed import group as _group
from retrograd.distributed.collectives import *  # noqa: F403
from retrograd.distributed.group import *  # noqa: F403
from retrograd.namespaces import from_table

if TYPE_CHECKING:
    from retrograd.distributed.group import ProcessGroup


def _get_default_group() -> ProcessGroup:
    return _group.require()


__getattr__ = from_table(__name__)
