"""How a watched program ended and what was found: plain data that goes from process to process."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from retrograd.doctor.model import Diagnosis, Fix, Place, Span


@dataclass
class Result:
    """One run of a program under the doctor."""

    script: str = ""
    engine: str = ""  # "torch", "retrograd"; "" if the program used neither
    status: int = 0  # the program's own exit status
    error: str = ""  # "RuntimeError: first line", if an exception ended it
    seconds: float = 0.0
    diagnoses: list[Diagnosis] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)  # on files, processes, sockets
    started: bool = True  # False: there was no such program

    @property
    def verdict(self) -> str:
        """"diagnosed", "failed" (by an error that is not explained) or "healthy"."""
        if self.diagnoses:
            return "diagnosed"
        return "failed" if self.error else "healthy"

    def to_data(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def result_from(data: Mapping[str, Any]) -> Result:
    """The result that `to_data` gave."""
    return Result(**{**data, "diagnoses": [_diagnosis(found) for found in data["diagnoses"]]})


def _place(data: Mapping[str, Any] | None) -> Place | None:
    return None if data is None else Place(**data)


def _diagnosis(data: Mapping[str, Any]) -> Diagnosis:
    return Diagnosis(
        **{
            **data,
            "error_line": _place(data["error_line"]),
            "freed_at": _place(data["freed_at"]),
            "created_at": [Place(**place) for place in data["created_at"]],
            "fixes": [Fix(**{**fix, "place": Place(**fix["place"])}) for fix in data["fixes"]],
            "spans": [
                Span(
                    **{
                        **span,
                        "place": Place(**span["place"]),
                        "stack": [Place(**place) for place in span["stack"]],
                    }
                )
                for span in data["spans"]
            ],
        }
    )


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old text or the new one, never a part."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)  # as a plain `open` would have made it
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def as_json(data: Any) -> str:
    """JSON of data in which an odd value is written as its text."""
    return json.dumps(data, indent=2, default=str)
