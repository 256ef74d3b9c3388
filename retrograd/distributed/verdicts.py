"""What went wrong between processes, from what each of them reports: facts in, words out.

A report is what the thread of `lookout` in another process answers. The words name ranks, the
lines of their programs and the exchanges that they are in, and claim nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict


class CallFacts(TypedDict):
    """One exchange of all processes, as a process began it."""

    number: int
    name: str
    detail: str
    agreed: str  # what has to be the same in all processes
    where: str
    over: bool


class MessageFacts(TypedDict):
    """One message that is not over."""

    way: str  # "send" or "receive"
    other: int | None
    tag: int
    size: int
    detail: str
    where: str


class Report(TypedDict):
    """What one process says of itself."""

    at: str  # where its main thread is
    calls: dict[str, list[CallFacts]]  # by group
    messages: dict[str, list[MessageFacts]]


class Verdict(NamedTuple):
    """What is said: the line of the error, and the report below it."""

    line: str
    note: str
    certain: bool  # whether the line says more than what an engine says of its connections


def shown(call: CallFacts) -> str:
    """An exchange as a program would write it."""
    return f"{call['name']}({call['detail']})"


def mismatch(
    group: str, number: int, ranks: Sequence[int], reports: Mapping[int, Report]
) -> Verdict | None:
    """Whether processes began different things as exchange `number` of a group."""
    found: dict[int, CallFacts] = {}
    for rank in ranks:
        for call in reports[rank]["calls"].get(group, ()) if rank in reports else ():
            if call["number"] == number:
                found[rank] = call
    kinds: dict[tuple[str, str], list[int]] = {}
    for rank, call in found.items():
        kinds.setdefault((call["name"], call["agreed"]), []).append(rank)
    if len(kinds) < 2:
        return None
    first, second = (found[members[0]] for members in list(kinds.values())[:2])
    one, two = (members[0] for members in list(kinds.values())[:2])
    line = (
        f"Detected mismatch between collectives on ranks. Rank {one} is running collective: "
        f"{shown(first)}, but Rank {two} is running collective: {shown(second)}."
    )
    lines = [f"these ranks began different exchanges, as number {number} of their group:"]
    lines += [f"  rank {rank}: {shown(call)} at {call['where']}" for rank, call in found.items()]
    if first["name"] != second["name"]:
        lines.append(
            "help: every rank must begin the same exchanges in the same order; look for one that "
            "only some of them reach"
        )
    else:
        lines.append("help: the tensors of all ranks must have the same size, dtype and options")
    return Verdict(line, "\n".join(lines), True)


def wrong_size(
    group: str, me: int, mine: MessageFacts, reports: Mapping[int, Report]
) -> Verdict | None:
    """Whether the other process waits with a message of another size."""
    other = mine["other"]
    if other is None or other not in reports:
        return None
    opposite = "receive" if mine["way"] == "send" else "send"
    for theirs in reports[other]["messages"].get(group, ()):
        if (
            (theirs["way"], theirs["other"], theirs["tag"]) == (opposite, me, mine["tag"])
        ) and theirs["size"] != mine["size"]:
            given, taken = (mine, theirs) if opposite == "receive" else (theirs, mine)
            sender, receiver = (me, other) if opposite == "receive" else (other, me)
            line = (
                f"Rank {sender} sends {given['detail']} to rank {receiver}, which waits for "
                f"{taken['detail']}"
            )
            note = (
                f"  rank {sender}: send at {given['where']}\n"
                f"  rank {receiver}: recv at {taken['where']}\n"
                "help: what is received must have the size and dtype of what was sent"
            )
            return Verdict(line, note, True)
    return None


def states(
    group: str,
    number: int | None,
    ranks: Sequence[int],
    reports: Mapping[int, Report],
    silent: Mapping[int, str],
) -> str:
    """Where each process is: the report below an error of an exchange that did not end.

    number  the exchange that did not end, if it is one of all processes
    silent  what is known of those that did not answer
    """
    lines = []
    for rank in ranks:
        if rank not in reports:
            lines.append(f"  rank {rank}: {silent.get(rank, 'does not answer')}")
            continue
        report = reports[rank]
        calls = report["calls"].get(group, [])
        newest = calls[-1] if calls else None
        at = f"; its program is at {report['at']}" if report["at"] else ""
        waiting = [message for message in report["messages"].get(group, ())]
        if number is not None and newest is not None and newest["number"] >= number:
            (same,) = [call for call in calls if call["number"] == number] or [newest]
            told = "has ended" if same["over"] else "waits in"
            lines.append(f"  rank {rank}: {told} {shown(same)} at {same['where']}")
        elif waiting:
            each = waiting[0]
            direction = "to" if each["way"] == "send" else "from"
            lines.append(
                f"  rank {rank}: waits in {each['way']}({each['detail']}) {direction} rank "
                f"{'any' if each['other'] is None else each['other']} at {each['where']}"
            )
        elif number is not None:
            last = f"; the last it began is {shown(newest)} at {newest['where']}" if newest else ""
            lines.append(f"  rank {rank}: has not begun this exchange{last}{at}")
        else:
            lines.append(f"  rank {rank}: is in no exchange{at}")
    return "\n".join(lines)
