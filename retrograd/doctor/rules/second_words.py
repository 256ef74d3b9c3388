"""What the rules of a second backward tell about it: its places, and what things are called."""

from __future__ import annotations

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence.second_backward import SecondBackward
from retrograd.doctor.rules import places, reading_lines, storing_lines
from retrograd.watching import source


def failing_place(evidence: SecondBackward) -> Place:
    """The line of the call that failed."""
    place = evidence.log.place_of(evidence.call.stack)
    return place if place is not None else Place("?", 0)


def freeing_place(evidence: SecondBackward) -> Place:
    """The line of the call that released the graph."""
    place = evidence.log.place_of(evidence.freer.stack)
    return place if place is not None else Place("?", 0)


def in_loop(evidence: SecondBackward) -> Place:
    """The failing call as the loop sees it: the line in the frame that repeats."""
    repetition = evidence.repetition
    if repetition is not None:
        for chain, place in evidence.log.chains.stack(
            evidence.call.stack[-1].chain, evidence.call.stack[-1].line
        ):
            if chain == repetition.chain:
                return place
    return failing_place(evidence)


def kept_place(evidence: SecondBackward) -> Place:
    """The line that keeps the stale value."""
    place = source.where_kept([place for _, place in evidence.made])
    return place if place is not None else failing_place(evidence)


def name_of(evidence: SecondBackward) -> str:
    """What the user calls the stale value; "" if it has no name."""
    if evidence.held is None and evidence.made_inside:
        updated = reading_lines.updated_attribute(evidence.consumers)
        if updated is not None:
            return updated[1]
    own = places.called_by_its_users(evidence)
    return own or places.called_in_words(evidence.held, evidence.made)


def quoted(evidence: SecondBackward) -> str:
    """The same for a sentence."""
    name = name_of(evidence)
    return f"`{name}`" if name else "a value"


def made_lines(evidence: SecondBackward) -> list[Place]:
    """Where the value at fault was made: the innermost line, then the lines that led there."""
    stack = [place for _, place in evidence.made]
    stored = storing_lines.store_line(evidence)
    if stored is not None:
        stack.insert(0, stored)  # where it was put away
    if not stack:
        stack = [p for _, p in evidence.log.stack_of(max(evidence.call.roots, default=0))]
    return list(dict.fromkeys(reversed(stack)))


def cost_of_retaining(evidence: SecondBackward) -> str:
    """What retain_graph=True costs, in words."""
    return f"keeps the values of {evidence.freer.nodes} nodes until the next backward"


def starves(evidence: SecondBackward) -> str:
    """Which parameters a detach would take out of training, in words."""
    if not evidence.starved:
        return ""
    count = len(evidence.starved)
    return f"{count} parameter{'s' * (count > 1)} would get no gradient from this loss any more"
