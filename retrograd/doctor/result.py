"""How a watched program ended and what was found: plain data that goes from process to process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.watching.received import Course, Run

PROCESS = "retrograd.doctor.watched_process"  # what runs where a result is made
NEIGHBOURS = 1  # lines around a place that a report may show
INTERRUPTED = 130  # the exit status of a program that Ctrl-C has ended


@dataclass
class Result:
    """One run of a program under the doctor."""

    script: str = ""
    engine: str = ""  # "torch", "retrograd"; "" if the program used neither
    status: int = 0  # the program's own exit status
    error: str = ""  # "RuntimeError: first line", if an exception ended it
    seconds: float = 0.0
    waited: float = 0.0  # of these, in which the machine ran other processes
    diagnoses: list[Diagnosis] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    effects: list[str] = field(default_factory=list)  # on files, processes, sockets
    failures: list[str] = field(
        default_factory=list
    )  # of processes of a group, the first cause first
    started: bool = True  # False: there was no such program
    texts: dict[str, str] = field(default_factory=dict)  # "file:line" -> the line's text
    interim: float = 0.0  # written while the program ran, after so many seconds
    rank: str = ""  # of the process in its group
    calls: int = 0  # of backward and grad
    gradients: list[list[bool]] = field(default_factory=list)  # per optimizer: who ever had one
    courses: list[Course] = field(default_factory=list)  # per optimizer: who had one at each step
    losses: list[float] = field(default_factory=list)  # of the first backward calls
    doubled: int = 0  # backward calls inside another one that go through its graph again

    @property
    def own_seconds(self) -> float:
        """How long the program takes by itself, on a machine that others load."""
        return max(0.0, self.seconds - self.waited)

    @property
    def verdict(self) -> str:
        """ "diagnosed", "failed" (an error that is not explained, or a status) or "healthy"."""
        if self.diagnoses:
            return "diagnosed"
        return "failed" if self.error or self.status else "healthy"

    def text_of(self, place: Place) -> str:
        """The text of a line, as it was when the program ran; "" if it is not known."""
        return self.texts.get(f"{place.file}:{place.line}", "")

    def keep_texts(self, text_at: Callable[[str, int], str]) -> None:
        """Keep the text of all lines that the diagnoses name, and of their neighbours."""
        for diagnosis in self.diagnoses:
            places = [diagnosis.error_line, diagnosis.freed_at, *diagnosis.created_at]
            places += [fix.place for fix in diagnosis.fixes]
            for span in diagnosis.spans:
                places += [span.place, *span.stack]
            for place in places:
                if place is not None:
                    for line in range(place.line - NEIGHBOURS, place.line + NEIGHBOURS + 1):
                        text = text_at(place.file, line)
                        if text:
                            self.texts[f"{place.file}:{line}"] = text

    def to_data(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def result_from(data: Mapping[str, Any]) -> Result:
    """The result that `to_data` gave."""
    diagnoses = [_diagnosis(found) for found in data["diagnoses"]]
    courses = [_course(found) for found in data["courses"]]
    return Result(**{**data, "diagnoses": diagnoses, "courses": courses})


def _course(data: Mapping[str, Any]) -> Course:
    return Course(**{**data, "runs": [Run(**run) for run in data["runs"]]})


def _place(data: Mapping[str, Any] | None) -> Place | None:
    return None if data is None else Place(**data)


def _diagnosis(data: Mapping[str, Any]) -> Diagnosis:
    return Diagnosis(
        **{
            **data,
            "error_line": _place(data["error_line"]),
            "freed_at": _place(data["freed_at"]),
            "created_at": [Place(**place) for place in data["created_at"]],
            "ways": [[Place(**place) for place in stack] for stack in data["ways"]],
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
