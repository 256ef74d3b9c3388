"""The folder of a checkpoint: files of parts, and one that says what is in them."""

from __future__ import annotations

import contextlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrograd.serialization.atomic import replacing
from retrograd.serialization.loading import load as load_file
from retrograd.serialization.saving import save as save_file

__all__ = ["FileSystemReader", "FileSystemWriter", "Metadata", "Stored"]

METADATA = ".metadata"
_FORMAT = "retrograd checkpoint 1"
_PART = re.compile(r"__\d+_[0-9a-f]{16}\.distcp")


@dataclass(frozen=True)
class Stored:
    """What the metadata has of one entry."""

    file: str
    path: tuple[tuple[str | int, bool], ...]
    shape: tuple[int, ...] | None = None  # None: it is no tensor
    dtype: str | None = None


@dataclass
class Metadata:
    """What is in a checkpoint: entries by their names, and files with their sizes."""

    state_dict_metadata: dict[str, Stored] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text of the file."""
        stored = {
            name: [each.file, each.path, each.shape, each.dtype]
            for name, each in self.state_dict_metadata.items()
        }
        return json.dumps({"format": _FORMAT, "files": self.files, "entries": stored})

    @classmethod
    def from_json(cls, text: str, place: Path) -> Metadata:
        """The same from the text; an error that names the file if it is something else."""
        try:
            told = json.loads(text)
            if told["format"] != _FORMAT:
                raise ValueError(told["format"])
            found = {
                str(name): Stored(
                    str(file),
                    tuple((key, bool(is_index)) for key, is_index in path),
                    None if shape is None else tuple(int(size) for size in shape),
                    None if dtype is None else str(dtype),
                )
                for name, (file, path, shape, dtype) in told["entries"].items()
            }
            files = {str(file): int(size) for file, size in told["files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RuntimeError(
                f"{place} does not describe a checkpoint of retrograd; PyTorch's describe "
                "themselves by a pickle, which is not run: convert one in PyTorch by "
                "torch.distributed.checkpoint.format_utils.dcp_to_torch_save"
            ) from error
        for file in {each.file for each in found.values()} | set(files):
            if not _PART.fullmatch(file):
                raise RuntimeError(f"{place} names a file {file!r}, which is none of a checkpoint")
        return cls(found, files)


class FileSystemWriter:
    """Writes a checkpoint to a folder.

    sync_files  PyTorch's option: files are always on the disk before the checkpoint counts
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        single_file_per_rank: bool = True,
        sync_files: bool = True,
        thread_count: int = 1,
        per_thread_copy_ahead: int = 10_000_000,
        cache_staged_state_dict: bool = False,
        overwrite: bool = True,
    ) -> None:
        if not single_file_per_rank:
            raise NotImplementedError(
                "torch.distributed.checkpoint.FileSystemWriter(single_file_per_rank=False) is not "
                "supported by retrograd"
            )
        self.path = Path(path)
        self.overwrite = overwrite

    def check(self) -> None:
        """Make the folder; an error if there is a checkpoint that must stay."""
        self.path.mkdir(parents=True, exist_ok=True)
        if not self.overwrite and (self.path / METADATA).exists():
            raise RuntimeError(f"Checkpoint already exists and self.overwrite={self.overwrite}.")

    def write_part(self, name: str, values: dict[str, Any]) -> int:
        """Write some entries to a file; its size."""
        place = self.path / name
        save_file(values, place)
        return place.stat().st_size

    def finish(self, metadata: Metadata) -> None:
        """Let the checkpoint count, and remove the files of the one before."""
        with replacing(os.fspath(self.path / METADATA)) as file:
            file.write(metadata.to_json().encode())
        for place in self.path.iterdir():
            if _PART.fullmatch(place.name) and place.name not in metadata.files:
                with contextlib.suppress(OSError):
                    place.unlink()


class FileSystemReader:
    """Reads a checkpoint from a folder."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def read_metadata(self) -> Metadata:
        """What is in the checkpoint; an error if there is none, or a part of it is missing."""
        place = self.path / METADATA
        found = Metadata.from_json(place.read_text("utf-8"), place)
        for file, size in found.files.items():
            part = self.path / file
            held = part.stat().st_size if part.exists() else None
            if held != size:
                what = "is missing" if held is None else f"has {held} bytes, not {size}"
                raise RuntimeError(f"the checkpoint in {self.path} is damaged: {file} {what}")
        return found

    def read_part(self, name: str) -> dict[str, Any]:
        """The entries of a file; no code in it is run."""
        found: dict[str, Any] = load_file(self.path / name, map_location="cpu", weights_only=True)
        return found
