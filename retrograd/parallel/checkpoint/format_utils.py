"""A checkpoint in a folder as one file of `torch.save`, and back."""

from __future__ import annotations

import os

from retrograd.parallel.checkpoint.entries import Entry, nested
from retrograd.parallel.checkpoint.files import FileSystemReader
from retrograd.parallel.checkpoint.saving import save
from retrograd.serialization.loading import load as load_file
from retrograd.serialization.saving import save as save_file

__all__ = ["dcp_to_torch_save", "torch_save_to_dcp"]


def dcp_to_torch_save(
    dcp_checkpoint_dir: str | os.PathLike[str], torch_save_path: str | os.PathLike[str]
) -> None:
    """Write the state of a checkpoint as one file, for `torch.load`; in one process."""
    reader = FileSystemReader(dcp_checkpoint_dir)
    metadata = reader.read_metadata()
    parts = {file: reader.read_part(file) for file in metadata.files}
    found = [
        Entry(stored.path, parts[stored.file][name])
        for name, stored in metadata.state_dict_metadata.items()
    ]
    save_file(nested(found), torch_save_path)


def torch_save_to_dcp(
    torch_save_path: str | os.PathLike[str], dcp_checkpoint_dir: str | os.PathLike[str]
) -> None:
    """Write what a file of `torch.save` has as a checkpoint; in one process."""
    state = load_file(torch_save_path, map_location="cpu", weights_only=True)
    save(state, checkpoint_id=dcp_checkpoint_dir, no_dist=True)
