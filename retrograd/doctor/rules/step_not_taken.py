"""The text has a step, in a branch that is not taken, or no longer: losses are sent in vain."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.records import Call, ZeroGrad

CLEARED = 8  # times that gradients which no step has used were cleared
MEANT = (
    *("dry", "bench", "profil", "measure", "probe", "inspect", "sanity", "stop", "patien"),
    *("freez", "frozen", "converg", "done", "finish", "tol", "eps", "loss", "budget", "%"),
)
"""Words of a condition that say: no step is to be made, or not yet."""


@dataclass(frozen=True)
class Branch:
    """A condition, and the step that stands in one of its branches."""

    file: str
    test: ast.If
    step: ast.Call
    owner: str
    otherwise: bool  # the step is in the `else`


def diagnose(watched: Watched) -> list[Diagnosis]:
    """At most one: nothing is trained any more, so there is only one such place."""
    gradients = watched.recorder.gradients
    last = gradients.steps[-1] if gradients.steps else None
    calls = [call for call in watched.recorder.calls if call.kind == "backward"]
    since = [call for call in calls if last is None or call.index >= last.calls]
    zeros = gradients.zeros
    later = [zero for zero in zeros if last is None or zero.steps >= len(gradients.steps)]
    lost = [zero for zero in later if zero.lost]
    if len(lost) < CLEARED or len({call.site for call in since}) != 1 or uses_gradients(watched):
        return []
    of_site = [call for call in calls if call.site == since[-1].site]
    if 2 * len(since) < len(of_site):
        return []
    if last is not None and not any(zero.lost & last.parameters for zero in lost):
        return []
    branches = list(_branches(watched, lost))
    if last is not None:
        place = watched.tracer.log.place_of(last.stack)
        branches = [b for b in branches if place and _place(b).file == place.file]
        branches = [b for b in branches if place and b.step.lineno == place.line]
    if len({branch.test.lineno for branch in branches}) != 1:
        return []
    return [_diagnosis(watched, branches[0], since, lost, last is not None)]


def uses_gradients(watched: Watched) -> bool:
    """Whether the program reads gradients itself, or has functions called with them."""
    for file in watched.tracer.chains.files():
        tree = source.tree_of(file)
        called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                read = node.attr == "grad" and isinstance(node.ctx, ast.Load)
                if (read and id(node) not in called) or "hook" in node.attr:
                    return True
            if isinstance(node, ast.Assign) and "clip_grad" in ast.unparse(node.value):
                return True
    return False


def _branches(watched: Watched, lost: list[ZeroGrad]) -> Iterator[Branch]:
    """The steps of the text, each with the innermost condition around it; none if one has none."""
    found: list[Branch] = []
    cleared = _cleared_names(watched, lost)
    for file in watched.tracer.chains.files():
        tree = source.tree_of(file)
        parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call) or getattr(node.func, "attr", "") != "step":
                continue
            assert isinstance(node.func, ast.Attribute)
            owner = ast.unparse(node.func.value)
            name = owner.rpartition(".")[2]
            if name not in cleared and "opt" not in name.lower():
                continue
            inner: ast.AST = node
            around = parents.get(node)
            while around is not None and not isinstance(
                around, (ast.If, ast.FunctionDef, ast.AsyncFunctionDef, ast.For, ast.While)
            ):
                inner, around = around, parents.get(around)
            if not isinstance(around, ast.If):
                return
            test = ast.unparse(around.test).lower()
            if any(word in test for word in MEANT):
                return
            found.append(Branch(file, around, node, owner, inner in around.orelse))
    yield from found


def _cleared_names(watched: Watched, lost: list[ZeroGrad]) -> set[str]:
    """What the lines that clear call the optimizer, without what stands before the last point."""
    place = watched.tracer.log.place_of(lost[-1].stack)
    if place is None:
        return set()
    return {
        ast.unparse(node.func.value).rpartition(".")[2]
        for node in ast.walk(source.tree_of(place.file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "zero_grad"
        and node.lineno == place.line
    }


def _place(branch: Branch) -> Place:
    function = source.function_around(branch.file, branch.step.lineno)
    name = "<module>" if function is None else function.name
    return Place(branch.file, branch.step.lineno, name)


def _diagnosis(
    watched: Watched, branch: Branch, since: list[Call], lost: list[ZeroGrad], later: bool
) -> Diagnosis:
    log, step = watched.tracer.log, _place(branch)
    asked = Place(branch.file, branch.test.lineno, step.function)
    sent, cleared = log.place_of(since[-1].stack), log.place_of(lost[-1].stack)
    near = [asked, step, *(place for place in (sent, cleared) if place is not None)]
    test = ast.unparse(branch.test.test)
    when = f"`{test}` is not true" if not branch.otherwise else f"`{test}` is true"
    since_when = "the last of them " if later else ""
    return Diagnosis(
        cause="optimizer-never-steps",
        title=f"`{branch.owner}` makes no {'more steps' if later else 'step'} where {when}",
        why=f"The step in line {step.line} is in a branch, and {since_when}{len(since)} backward "
        f"calls came by without it. Their gradients were cleared {len(lost)} times, and nothing "
        "had used them: the parameters keep their values.",
        error_line=asked,
        created_at=list(dict.fromkeys(near)),
        fixes=[Fix("add-step", step, f"call {branch.owner}.step() in both cases")],
        spans=[
            Span("asked", asked),
            Span("step", step),
            *([Span("sent back", sent, log.places_of(since[-1].stack))] if sent else []),
        ],
        tensor=branch.owner,
        facts={"in_branch": True, "calls": len(since)},
    )
