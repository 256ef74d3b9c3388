"""A barrier that knows who did not come: by keys of the store, without an exchange."""

from __future__ import annotations

import time
from datetime import timedelta

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.names import DistError, DistStoreError


def watched_barrier(group: ProcessGroup, timeout: timedelta | None, all_ranks: bool) -> None:
    """Wait for all processes of a group; in the first an error names who does not come."""
    group.watched += 1
    where, store = f"monitored barrier {group.watched}", group.get_group_store()
    limit = group.timeout if timeout is None else timeout
    until = time.monotonic() + limit.total_seconds()
    me = group.rank()
    if me:
        store.set(f"{where}/{me}", "")
        try:
            store.wait([f"{where}/over"], limit + timedelta(seconds=_LATER))
        except DistError as error:
            raise _unfinished(me, str(error)) from None
        verdict = store.get(f"{where}/over").decode()
        if verdict:
            raise _unfinished(me, verdict)
        return
    missing: list[int] = []
    for rank in range(1, group.size()):
        try:
            left = timedelta(seconds=max(0.0, until - time.monotonic()))
            store.wait([f"{where}/{rank}"], left)
        except DistStoreError:
            missing.append(rank)
            if not all_ranks:
                break
    if not missing:
        store.set(f"{where}/over", "")
        return
    told = f"{'Rank' if len(missing) == 1 else 'Ranks'} {', '.join(map(str, missing))}"
    text = (
        f"[Rank 0]: {told} failed to pass monitoredBarrier in "
        f"{round(limit.total_seconds() * 1000)} ms"
    )
    store.set(f"{where}/over", text)
    failure = RuntimeError(text)
    group.explain(failure, missing)
    raise failure


_LATER = 5.0  # seconds in which the first process tells what it found


def _unfinished(me: int, why: str) -> RuntimeError:
    return RuntimeError(
        f"Rank {me} successfully reached monitoredBarrier, but received errors while waiting for "
        "send/recv from rank 0. Please check rank 0 logs for faulty rank.\n Original exception: \n"
        + why
    )
