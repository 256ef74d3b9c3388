"""Saving: every entry is written once, by one of the processes that have it."""

from __future__ import annotations

import copy
import os
import secrets
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any, NoReturn

from retrograd.distributed.group import ProcessGroup
from retrograd.distributed.joining import new_group
from retrograd.distributed.objects import broadcast_object_list
from retrograd.parallel.checkpoint.entries import Entry, entries, plain_state
from retrograd.parallel.checkpoint.files import FileSystemWriter, Metadata, Stored
from retrograd.parallel.checkpoint.together import group_of, in_all
from retrograd.tensor import Tensor

__all__ = ["async_save", "save", "save_state_dict"]

Place = str | os.PathLike[str]
_SMALL = 1 << 10  # an entry that is no tensor counts as so many bytes

_groups: dict[ProcessGroup, ProcessGroup] = {}
_last: list[Future[Metadata]] = []


def save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: Place | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: object = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
    use_collectives: bool = True,
) -> Metadata:
    """Write a state to a folder; all processes call it with the same folder.

    Entries that several processes have under one name are taken for the same, and written once.
    Until all is on the disk, the folder holds the checkpoint that was there before.

    >>> import tempfile
    >>> checkpoint = torch.distributed.checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = checkpoint.save({"weight": torch.ones(2), "step": 3}, checkpoint_id=folder)
    ...     state = {"weight": torch.zeros(2), "step": 0}
    ...     checkpoint.load(state, checkpoint_id=folder)
    >>> state
    {'weight': tensor([1., 1.]), 'step': 3}
    """
    writer = writer_of(checkpoint_id, storage_writer)
    check_plain(planner, "save", use_collectives)
    group = group_of(process_group, no_dist)
    return _written(entries(plain_state(state_dict)), writer, group)


def save_state_dict(
    state_dict: Mapping[str, Any],
    storage_writer: FileSystemWriter,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: object = None,
) -> Metadata:
    """The older name of `save`."""
    return save(
        state_dict,
        storage_writer=storage_writer,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )


def async_save(
    state_dict: Mapping[str, Any],
    *,
    checkpoint_id: Place | None = None,
    storage_writer: FileSystemWriter | None = None,
    planner: object = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> Future[Metadata]:
    """The same on a thread: the state is copied, and the program goes on.

    The future's result is there when the checkpoint counts. A save waits for the one before.
    """
    writer = writer_of(checkpoint_id, storage_writer)
    check_plain(planner, "async_save", True)
    group = group_of(process_group, no_dist)
    if group is not None:
        # A group of its own: the exchanges of training keep their order.
        if group not in _groups:
            made = new_group(list(group._ranks))
            assert isinstance(made, ProcessGroup)
            _groups[group] = made
        group = _groups[group]
    found = {
        name: Entry(entry.path, _copied(entry.value))
        for name, entry in entries(plain_state(state_dict)).items()
    }
    done: Future[Metadata] = Future()
    before = _last[-1] if _last else None
    _last[:] = [done]

    def run() -> None:
        if before is not None:
            before.exception()
        try:
            done.set_result(_written(found, writer, group))
        except BaseException as error:
            done.set_exception(error)

    threading.Thread(target=run, name="retrograd checkpoint").start()
    return done


def _copied(value: Any) -> Any:
    return value.detach().cpu().clone() if isinstance(value, Tensor) else copy.deepcopy(value)


def _written(
    found: dict[str, Entry], writer: FileSystemWriter, group: ProcessGroup | None
) -> Metadata:
    rank = 0 if group is None else group.rank()
    token = [secrets.token_hex(8)]
    if group is not None:
        broadcast_object_list(token, group=group, group_src=0)

    def offer() -> dict[str, int]:
        writer.check()
        return {name: _size(entry.value) for name, entry in found.items()}

    offers = in_all(group, offer)
    writers = assigned(offers)
    file = f"__{rank}_{token[0]}.distcp"
    mine = {name: found[name] for name, by in writers.items() if by == rank}

    def write() -> tuple[str, int, dict[str, Stored]]:
        values = {
            name: entry.value.detach() if isinstance(entry.value, Tensor) else entry.value
            for name, entry in mine.items()
        }
        size = writer.write_part(file, values) if mine else 0
        return file, size, {name: _stored(file, entry) for name, entry in mine.items()}

    metadata, written = Metadata(), {}
    for name, size, stored in in_all(group, write):
        if stored:
            metadata.files[name] = size
            written.update(stored)
    in_order = dict.fromkeys(name for offered in offers for name in offered)
    metadata.state_dict_metadata = {name: written[name] for name in in_order}

    def finish() -> None:
        if rank == 0:
            writer.finish(metadata)

    in_all(group, finish)
    return metadata


def assigned(offers: list[dict[str, int]]) -> dict[str, int]:
    """Who writes each entry: of those that have it, the one that has least to write.

    offers  the entries of each process, and their bytes

    >>> assigned([{"a": 10, "b": 1, "c": 1}, {"a": 10, "b": 1, "own": 5}])
    {'a': 0, 'own': 1, 'b': 1, 'c': 0}
    """
    sizes: dict[str, int] = {}
    for offer in offers:
        for name, size in offer.items():
            sizes.setdefault(name, size)
    loads = [0] * len(offers)
    found = {}
    for name in sorted(sizes, key=lambda name: -sizes[name]):
        able = [rank for rank, offer in enumerate(offers) if name in offer]
        by = min(able, key=lambda rank: loads[rank])
        loads[by] += sizes[name]
        found[name] = by
    return found


def _size(value: object) -> int:
    return value.nbytes if isinstance(value, Tensor) else _SMALL


def _stored(file: str, entry: Entry) -> Stored:
    value = entry.value
    if isinstance(value, Tensor):
        return Stored(file, entry.path, tuple(value.shape), str(value.dtype))
    return Stored(file, entry.path)


def writer_of(place: Place | None, writer: FileSystemWriter | None) -> FileSystemWriter:
    """What writes to a folder; an error if neither it nor the folder is given."""
    if writer is not None:
        if not isinstance(writer, FileSystemWriter):
            _refuse("save", f"storage_writer={type(writer).__name__}")
        return writer
    if place is None:
        raise RuntimeError("Must specify either storage_writer or checkpoint_id for save.")
    return FileSystemWriter(place)


def check_plain(planner: object, name: str, use_collectives: bool) -> None:
    """Refuse what would have no effect here."""
    if planner is not None:
        _refuse(name, "planner=...")
    if not use_collectives:
        _refuse(name, "use_collectives=False")


def _refuse(name: str, what: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.distributed.checkpoint.{name}({what}) is not supported by retrograd"
    )
