"""What a recording shows, in a few lines of text."""

from __future__ import annotations

import textwrap

from retrograd.graph.schema import Place, Recording
from retrograd.graph.wording import counted, size


def peak_of(recording: Recording) -> tuple[int, int]:
    """The most bytes that were held for backward, each memory once, and the time of it."""
    changes: list[tuple[int, int, int]] = []  # time, one more or one less, storage
    for node in recording.nodes:
        end = min((time for time in (node.freed, node.gone) if time), default=0)
        for storage in {saved.storage for saved in node.saved}:
            if storage >= 0 and not recording.storages[storage].owner:
                changes.append((node.born, 1, storage))
                if end:
                    changes.append((end, -1, storage))
    holders: dict[int, int] = {}
    now, most = 0, (0, 0)
    for time, change, storage in sorted(changes):
        before = holders.get(storage, 0)
        holders[storage] = before + change
        if before == 0 or holders[storage] == 0:
            now += change * recording.storages[storage].bytes
        most = max(most, (now, time), key=lambda pair: pair[0])
    return most


def summarized(recording: Recording, width: int = 80) -> str:
    """How much there is, the peak, and what went wrong."""
    nodes = [node for node in recording.nodes if not node.leaf]
    steps = [event for event in recording.events if event.kind == "step"]
    parts = [counted(len(nodes), "node"), counted(len(recording.calls), "backward call")]
    if steps:
        parts.insert(0, counted(len(steps), "step"))
    lines = [f"{', '.join(parts)} on {recording.library} {recording.library_version}"]
    most, time = peak_of(recording)
    if most:
        at = [event.label for event in steps if event.time <= time]
        lines.append(f"at most {size(most)} held for backward" + (f", in {at[-1]}" if at else ""))
    for call in recording.calls:
        if call.failure is not None:
            node = call.failure.node
            where = f" at {recording.nodes[node].name}{_at(recording, _made(recording, node))}"
            lines.append(
                f"{call.kind} call {call.number}{_at(recording, call.place)} failed"
                f"{where if node >= 0 else ''}: {call.failure.message}"
            )
    told = [call.failure.message for call in recording.calls if call.failure is not None]
    for event in recording.events:
        if event.kind == "error" and not any(message in event.label for message in told):
            lines.append(f"the program failed{_at(recording, event.place)}: {event.label}")
    lines += [note for note in recording.notes if "left out" in note]
    folded = [textwrap.wrap(line, max(width - 2, 20), subsequent_indent="  ") for line in lines]
    return "\n".join(line for paragraph in folded for line in paragraph)


def _made(recording: Recording, node: int) -> Place | None:
    places = recording.nodes[node].places if node >= 0 else []
    return places[0] if places else None


def _at(recording: Recording, place: Place | None) -> str:
    return "" if place is None else f" ({recording.files[place.file].name}:{place.line})"
