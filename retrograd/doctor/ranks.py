"""What the processes of a group have done, beside each other: where their ways part.

Each has left what it began to exchange (`watching/exchanges.py`), and how it ended. Two that begin
different exchanges at the same place in the order wait for each other until the timeout; PyTorch
then says that a connection was closed, in a line that is not to blame.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.result import Result
from retrograd.watching import source
from retrograd.watching.exchanges import BACKWARD, BUFFERS, FORWARD, Begun, Told, read

FOLLOWS = (
    *("Connection closed by peer", "Connection reset by peer", "Timed out waiting"),
    *("Application timeout caused pair closure", "Broken pipe", "DistNetworkError"),
    *("op.preamble.length", "Expected to have finished reduction", "monitoredBarrier"),
    *("wait timeout after", "Detected mismatch between", "KeyboardInterrupt"),
)
"""What a process says whose exchange another one has spoiled."""

ENDED = "ended"
FAILED = "failed"  # by an error of its own
FOLLOWED = "followed"  # by one that follows from another process
UNKNOWN = "unknown"


@dataclass
class Rank:
    """One process of the group."""

    number: int
    told: Told
    result: Result | None

    @property
    def end(self) -> str:
        """How it ended."""
        if self.result is None or self.result.interim:
            return UNKNOWN
        if self.result.error:
            follows = any(text in self.result.error for text in FOLLOWS)
            return FOLLOWED if follows else FAILED
        return FAILED if self.result.status else ENDED


def ranks_of(folder: Path, results: dict[int, Result]) -> list[Rank]:
    """The processes of the last start, in order; `results` are by number of the process."""
    told = [read(file) for file in sorted(folder.glob("exchanges-*.log"))]
    told = [each for each in told if each.rank >= 0]
    last = max((each.restart for each in told), default=0)
    found = {each.rank: Rank(each.rank, each, results.get(each.process)) for each in told}
    return [found[rank] for rank in sorted(found) if found[rank].told.restart == last]


def failures(ranks: Sequence[Rank]) -> list[tuple[Rank, str]]:
    """Which have ended by an error, those first that follow from no other one's."""
    found = [
        (rank, _short(rank.result.error)) for rank in ranks if rank.result and rank.result.error
    ]
    return sorted(found, key=lambda pair: pair[0].end != FAILED)


def _short(error: str) -> str:
    """Its first sentence, without the line of C++ that Gloo names."""
    text = re.sub(r"\[/\S+\] ", "", error)
    first = re.split(r"(?<=\.) ", text, maxsplit=1)[0]
    return textwrap.shorten(first, 160, placeholder=" ...")


def parted(ranks: Sequence[Rank]) -> Diagnosis | None:
    """Where the processes no longer did the same; None if they did, or it follows from an error."""
    ends = [rank.end for rank in ranks]
    if len(ranks) < 2 or FAILED in ends or all(end == ENDED for end in ends):
        return None
    groups = dict.fromkeys(begun.group for rank in ranks for begun in rank.told.begun)
    found = [parting for group in groups if (parting := _first_parting(group, ranks)) is not None]
    return _diagnosis(*found[0]) if found else None


Parting = tuple[dict[int, Begun], list[Rank], list[Begun]]
"""What each has begun there, who had ended, and what was the last that all had begun."""


def _first_parting(group: str, ranks: Sequence[Rank]) -> Parting | None:
    ways: dict[int, dict[int, Begun]] = {}
    members: set[int] = set()
    for rank in ranks:
        begun = {each.index: each for each in rank.told.begun if each.group == group}
        if begun:
            ways[rank.number] = begun
            members.update(*(each.members for each in begun.values()))
    inside = [rank for rank in ranks if rank.number in members]
    if len(inside) < 2:
        return None
    last = max(max(way) for way in ways.values())
    for index in range(max(min(way) for way in ways.values()), last + 1):
        here = {number: way[index] for number, way in ways.items() if index in way}
        gone = [rank for rank in inside if rank.number not in here and rank.end == ENDED]
        if len({str(begun) for begun in here.values()}) > 1 or (here and gone):
            before = [way[index - 1] for way in ways.values() if index - 1 in way]
            return here, gone, before
    return None


def _diagnosis(here: dict[int, Begun], gone: list[Rank], before: list[Begun]) -> Diagnosis:
    ways: dict[Begun, list[int]] = {}
    for number, begun in here.items():
        ways.setdefault(_without_index(begun), []).append(number)
    ordered = sorted(ways.items(), key=lambda item: (len(item[1]), item[1]))
    spans = [Span(f"{_named(who)}: {begun}", begun.place) for begun, who in ordered if begun.file]
    if not spans:
        raise ValueError("no line of the program is known")
    spans[0] = Span(spans[0].label, spans[0].place, primary=True)
    places = [begun.place for begun, _ in ordered if begun.file]
    parts = [f"{_named(who)} began {begun}" for begun, who in ordered]
    if gone:
        parts.append(f"{_named([rank.number for rank in gone])} had ended")
    told = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    same = ""
    if before and len({str(begun) for begun in before}) == 1:
        same = f" The last that they did together was {before[0]} in line {before[0].line}."
    why = (
        "An exchange ends when every process of the group has begun it, and they are told apart "
        f"by nothing but their order. At exchange {next(iter(here.values())).index + 1} of the "
        f"group {told}: each waits for what the others never do.{same}"
    )
    return Diagnosis(
        cause="ranks-differ",
        title=told[0].upper() + told[1:],
        why=why,
        error_line=places[0],
        created_at=places,
        fixes=list(_fixes(ordered, gone)),
        error="the processes of a group wait for each other",
        spans=spans,
        facts={str(number): str(begun) for number, begun in here.items()},
    )


def _without_index(begun: Begun) -> Begun:
    return replace(begun, members=(), index=0)


def _fixes(ordered: list[tuple[Begun, list[int]]], gone: list[Rank]) -> Iterator[Fix]:
    for begun, who in ordered:
        condition = _condition_on_rank(begun.place)
        if condition is not None and begun.detail == BUFFERS:
            yield Fix(
                "",
                begun.place,
                f"{_named(who)} came here by the condition in line {condition.line}, and the model "
                "copies its buffers to all processes before each forward: call what it wraps, "
                "model.module, which computes without the others",
            )
            return
        if condition is not None:
            yield Fix(
                "",
                condition,
                f"{_named(who)} came to {begun.name} by this condition, and others did not: let "
                f"all processes call it, and keep in the condition what only one is to do",
            )
            return
    names = {begun.name for begun, _ in ordered}
    if gone and names & {FORWARD, BACKWARD}:
        place = ordered[0][0].place
        yield Fix(
            "",
            place,
            "give all processes the same number of batches (DistributedSampler does), or train "
            "within `with model.join():`, which answers for those that are done",
        )
        return
    yield Fix("", ordered[0][0].place, "let all processes call the same, in the same order")


def _condition_on_rank(place: Place) -> Place | None:
    """The innermost condition around a line that asks for the number of the process."""
    found: ast.If | None = None
    for node in ast.walk(source.tree_of(place.file)):
        inside = isinstance(node, ast.If) and node.lineno <= place.line <= (node.end_lineno or 0)
        if inside and isinstance(node, ast.If) and "rank" in ast.unparse(node.test).lower():
            if found is None or node.lineno > found.lineno:
                found = node
    return None if found is None else Place(place.file, found.lineno, place.function)


def _named(numbers: Sequence[int]) -> str:
    shown = [str(number) for number in sorted(numbers)]
    if len(shown) == 1:
        return f"rank {shown[0]}"
    return f"ranks {', '.join(shown[:-1])} and {shown[-1]}"
