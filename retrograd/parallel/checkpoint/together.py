"""Steps that all processes take, and that fail in all if they fail in one."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, TypeVar

from retrograd.distributed.group import ProcessGroup, is_initialized, require
from retrograd.distributed.objects import all_gather_object
from retrograd.namespaces.errors import CheckpointException

__all__ = ["group_of", "in_all"]

_T = TypeVar("_T")


def group_of(process_group: ProcessGroup | None, no_dist: bool) -> ProcessGroup | None:
    """The processes that work together; None: this one alone."""
    if no_dist or (process_group is None and not is_initialized()):
        return None
    return require(process_group)


def in_all(group: ProcessGroup | None, step: Callable[[], _T]) -> list[_T]:
    """What a step gives in each process; an error of all, with those of each, if one fails."""
    mine: tuple[bool, Any]
    try:
        mine = True, step()
    except Exception as error:
        mine = False, (error, traceback.format_exc())
    every: list[Any] = [mine]
    if group is not None:
        every = [None] * group.size()
        all_gather_object(every, mine, group)
    failures = {rank: told for rank, (well, told) in enumerate(every) if not well}
    if failures:
        lines = [f"CheckpointException ranks:{failures.keys()}"]
        for rank, (_, shown) in failures.items():
            lines.append(f"(RANK {rank})\n{shown.rstrip()}")
        errors = {rank: error for rank, (error, _) in failures.items()}
        raise CheckpointException("\n".join(lines), errors)
    return [told for _, told in every]
