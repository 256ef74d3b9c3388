"""One loss that is counted twice: alone, and as a part of another sum that is sent back as well.

Nothing raises where the first call keeps the graph. A running total that is sent back in each pass
of a loop counts its first part as often as the loop goes round.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import between, repeats
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.records import Call, UsedGradients

TIMES = 2  # steps of one optimizer that show it


@dataclass
class Pair:
    """Two calls of which one sends back all that the other does, and the step that used both."""

    first: Call
    second: Call
    shared: int  # values that both send back
    parameters: int  # that got gradients from both
    used: UsedGradients

    @property
    def sites(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The lines of both."""
        return self.first.site, self.second.site


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each pair of lines, seen in several steps."""
    found: list[Diagnosis] = []
    named: set[Place] = set()
    for optimizer in watched.recorder.gradients.optimizers:
        uses = [each for each in watched.recorder.gradients.uses if each.optimizer is optimizer]
        pairs: dict[object, list[Pair]] = {}
        for number, used in enumerate(uses):
            before = [call for each in uses[:number] for call in each.calls]
            for pair in _pairs(used, before):
                pairs.setdefault(pair.sites, []).append(pair)
        for seen in pairs.values():
            steps = {pair.used.number for pair in seen}
            place = seen[-1].second.log.place_of(seen[-1].second.stack)
            if len(steps) < TIMES or place is None or place in named:
                continue
            diagnosis = _diagnosis(seen, len(steps))
            if diagnosis is not None:
                named.add(place)
                found.append(diagnosis)
    return found[:1]


def _pairs(used: UsedGradients, before: list[Call]) -> list[Pair]:
    """The pairs of which the second call's gradients are in this step."""
    found = []
    for position, second in enumerate(used.calls):
        for first in [*before, *used.calls[:position]]:
            shared = _shared(first, second)
            given = used.given[second.index]
            both = given & used.given.get(first.index, given)
            if shared and both:
                found.append(Pair(first, second, shared, len(both), used))
                break  # the oldest tells the most
    return found


def _shared(first: Call, second: Call) -> int:
    """How many values both send back, if that is all that one of them does, with one factor."""
    if first is second or first.log is not second.log:
        return 0
    shared = first.terms.keys() & second.terms.keys()
    if not shared or len(shared) < min(len(first.terms), len(second.terms)):
        return 0
    same = all(abs(first.terms[n] - second.terms[n]) <= 1e-6 for n in shared)
    return len(shared) if same else 0


def _diagnosis(seen: list[Pair], steps: int) -> Diagnosis | None:
    pair = seen[-1]
    first, second = pair.first, pair.second
    earlier, later = (call.log.place_of(call.stack) for call in (first, second))
    if earlier is None or later is None:
        return None
    stepped = second.log.place_of(pair.used.stack)
    repetition = repeats.between(first, second)
    apart = first.index not in pair.used.given
    summed = _summed(later)
    created = [later, *([summed] if summed else []), earlier]
    why = (
        f"The call in line {later.line} sends back what the call in line {earlier.line} has sent "
        f"back already: {pair.shared} value{'s are' if pair.shared > 1 else ' is'} in both sums. "
    )
    if apart:
        why += "A step has used the gradients of the first call, and this one adds them again: "
        why += "the loss belongs to parameters that have changed since."
    else:
        why += f"backward() adds to .grad, so {pair.parameters} parameters got them twice. "
        why += f"{steps} steps used such gradients."
    spans = [Span("sent back", earlier, first.log.places_of(first.stack))]
    spans.append(Span("sent back again", later, second.log.places_of(second.stack)))
    if summed is not None and summed not in (earlier, later):
        spans.insert(0, Span("summed", summed))
    return Diagnosis(
        cause="same-loss-twice",
        title="a loss is sent back twice, and its gradients are counted twice",
        why=why,
        error_line=later,
        created_at=list(dict.fromkeys(created)),
        fixes=_fixes(pair, earlier, later, summed, repetition is not None, apart),
        spans=spans,
        notes=[]
        if stepped is None
        else [f"The sum of both is used by the step in line {stepped.line}."],
        facts={
            "steps": steps,
            "terms": pair.shared,
            "parameters": pair.parameters,
            "in_loop": earlier == later and not apart,
        },
    )


def _fixes(
    pair: Pair, earlier: Place, later: Place, summed: Place | None, repeated: bool, apart: bool
) -> list[Fix]:
    if earlier == later and apart:
        where = summed or later
        return [
            Fix("reset-state", where, "begin anew after each step: what was sent back is done"),
            Fix("detach", where, "or keep what was sent back without its history"),
        ]
    if earlier == later:
        return [
            Fix("remove-extra-backward", later, "send the whole sum back once, after the loop"),
            Fix("combine-losses", later, "or send back the new part alone in each pass"),
        ]
    drop_or_keep = _alone_or_summed(pair, earlier, later)
    if between.gradients_looked_at(pair.first, pair.second):
        reason = "the gradients of the first call were looked at: clear them before the second one"
        return [Fix("zero-grad", later, reason), *drop_or_keep]
    return drop_or_keep


def _alone_or_summed(pair: Pair, earlier: Place, later: Place) -> list[Fix]:
    """One of the two calls goes, or the part that is in both."""
    whole = len(pair.second.terms) >= len(pair.first.terms)
    drop, keep = (earlier, later) if whole else (later, earlier)
    return [
        Fix("remove-extra-backward", drop, f"line {keep.line} sends this loss back as well"),
        Fix("combine-losses", keep, "or leave this loss out of the other sum"),
    ]


def _summed(sent: Place) -> Place | None:
    """The line that adds up what another line sends back, where it does so by a name."""
    statement = source.statement_at(sent.file, sent.line)
    if statement is None:
        return None
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    scope = source.function_around(sent.file, sent.line) or source.tree_of(sent.file)
    lines = [
        node.lineno
        for node in ast.walk(scope)
        if node is not statement and node.__class__ in _ADDING and _adds_to(node, names)
    ]
    return Place(sent.file, max(lines), sent.function) if lines else None


_ADDING = (ast.Assign, ast.AugAssign, ast.Expr)


def _adds_to(node: ast.AST, names: set[str]) -> bool:
    """`total += part`, `total = total + part`, `losses.append(part)`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.target, ast.Name) and node.target.id in names
    if isinstance(node, ast.Assign):
        target = node.targets[0]
        return (
            isinstance(target, ast.Name)
            and target.id in names
            and any(isinstance(n, ast.Name) and n.id == target.id for n in ast.walk(node.value))
        )
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        function = node.value.func
        return (
            isinstance(function, ast.Attribute)
            and function.attr in ("append", "extend", "insert")
            and isinstance(function.value, ast.Name)
            and function.value.id in names
        )
    return False
