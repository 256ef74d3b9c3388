"""Loading: each process reads the entries that its state has, from whatever file they are in."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from retrograd.distributed.group import ProcessGroup
from retrograd.engine.grad_mode import no_grad
from retrograd.namespaces.stateful import Stateful
from retrograd.parallel.checkpoint.entries import Entry, entries, plain_state, put
from retrograd.parallel.checkpoint.files import FileSystemReader
from retrograd.parallel.checkpoint.together import group_of, in_all
from retrograd.tensor import Tensor

__all__ = ["load", "load_state_dict"]


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str] | None = None,
    storage_reader: FileSystemReader | None = None,
    planner: object = None,
    process_group: ProcessGroup | None = None,
    no_dist: bool = False,
) -> None:
    """Fill a state with what a checkpoint has: tensors in place, anything else anew.

    The state says what is wanted: an entry that the checkpoint does not have is an error, and one
    that only the checkpoint has is left out. Objects with `load_state_dict` get their state.
    """
    if planner is not None or not isinstance(storage_reader, FileSystemReader | None):
        raise NotImplementedError(
            "torch.distributed.checkpoint.load is not supported by retrograd with a planner, or "
            "with a storage_reader other than FileSystemReader"
        )
    if storage_reader is None:
        if checkpoint_id is None:
            raise RuntimeError("Must specify either storage_reader or checkpoint_id for load.")
        storage_reader = FileSystemReader(checkpoint_id)
    reader: FileSystemReader = storage_reader
    plain = plain_state(state_dict)
    group = group_of(process_group, no_dist)
    # All processes are done with reading, or know of an error, before one of them goes on.
    fill = _prepared(plain, reader, group)
    with no_grad():
        fill()
    for key, value in state_dict.items():
        if isinstance(value, Stateful):
            value.load_state_dict(plain[key])
        else:
            state_dict[key] = plain[key]


def load_state_dict(
    state_dict: dict[str, Any],
    storage_reader: FileSystemReader,
    process_group: ProcessGroup | None = None,
    coordinator_rank: int = 0,
    no_dist: bool = False,
    planner: object = None,
) -> None:
    """The older name of `load`."""
    load(
        state_dict,
        storage_reader=storage_reader,
        process_group=process_group,
        no_dist=no_dist,
        planner=planner,
    )


def _prepared(
    plain: dict[str, Any], reader: FileSystemReader, group: ProcessGroup | None
) -> Callable[[], None]:
    wanted = entries(plain)
    values: dict[str, Any] = {}

    def read() -> None:
        stored = reader.read_metadata().state_dict_metadata
        files: dict[str, list[str]] = {}
        for name, entry in wanted.items():
            if name not in stored:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            shape = stored[name].shape
            if isinstance(entry.value, Tensor):
                if shape is None:
                    raise ValueError(f"{name} is no tensor in the checkpoint")
                if shape != tuple(entry.value.shape):
                    raise ValueError(
                        f"Size mismatch between saved torch.Size({list(shape)}) and current: "
                        f"{entry.value.shape} for {name}"
                    )
            files.setdefault(stored[name].file, []).append(name)
        for file, names in files.items():
            part = reader.read_part(file)
            values.update((name, part[name]) for name in names)

    in_all(group, read)

    def fill() -> None:
        for name, entry in wanted.items():
            if isinstance(entry.value, Tensor):
                entry.value.detach().copy_(values[name])
            else:
                _set(plain, entry, values[name])

    return fill


def _set(plain: dict[str, Any], entry: Entry, value: Any) -> None:
    inside: Any = plain
    for key, _ in entry.path[:-1]:
        inside = inside[key]
    put(inside, entry.path[-1], value)
