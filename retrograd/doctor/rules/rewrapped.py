"""A loss made anew from its own number and asked for a gradient: nothing behind it is reached."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence.statements import lines_assigning
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.gradients import parameters_of
from retrograd.watching.records import Call

TIMES = 2
COPIES = frozenset("tensor as_tensor Variable Parameter FloatTensor Tensor".split())


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that sends such a loss back, again and again.

    The graph says that it has no history: the root is a leaf, and no optimizer's, or no parameter
    of an optimizer ever had a gradient and the root leads to no other. The text says that it was
    made of another value, and asked for a gradient.
    """
    gradients = watched.recorder.gradients
    if len(gradients.steps) < TIMES:
        return []
    held = {id(parameter) for each in gradients.optimizers for parameter in parameters_of(each)}
    by_site: dict[tuple[int, int], list[Call]] = {}
    for call in watched.recorder.calls:
        if call.kind == "backward" and not call.nested and call.root_ids:
            by_site.setdefault(call.site, []).append(call)
    found = []
    for calls in by_site.values():
        alone = all(leaf and key not in held for call in calls for key, leaf in call.root_ids)
        seen = [call for call in calls if call.versions]
        apart = not held & gradients.received and not any(held & set(c.versions) for c in seen)
        last = calls[-1]
        sent = last.log.place_of(last.stack)
        if not (alone or (seen and apart)) or len(calls) < TIMES or sent is None:
            continue
        made = made_anew(sent) if alone else _on_the_way(seen[-1])
        if made is not None:
            found.append(_diagnosis(sent, made, last, len(calls)))
    return found


def made_anew(sent: Place, deeper: int = 2) -> Place | None:
    """The line that makes what another line sends back anew, as a leaf that requires grad.

    deeper  so many functions of the same file are looked into that return what is sent back
    """
    statement = source.statement_at(sent.file, sent.line)
    if statement is None:
        return None
    if _rewraps(statement):
        return sent
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    lines = {line for name in names for line in lines_assigning(sent, name) if line < sent.line}
    own = [line for line in lines if _rewraps(source.statement_at(sent.file, line))]
    if own:
        return Place(sent.file, max(own), sent.function)
    called = [source.statement_at(sent.file, line) for line in sorted(lines, reverse=True)]
    for returned in _returns_of([statement, *called], sent.file) if deeper else ():
        made = made_anew(returned, deeper - 1)
        if made is not None:
            return made
    return None


def _returns_of(statements: Iterable[ast.stmt | None], file: str) -> Iterator[Place]:
    """The `return` lines of the functions of a file that statements call."""
    names = {
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        for statement in statements
        if statement is not None
        for node in ast.walk(statement)
        if isinstance(node, ast.Call)
    }
    for function in ast.walk(source.tree_of(file)):
        if isinstance(function, ast.FunctionDef) and function.name in names:
            for node in ast.walk(function):
                if isinstance(node, ast.Return):
                    yield Place(file, node.lineno, function.name)


def _on_the_way(call: Call) -> Place | None:
    """The line behind the root of a call that makes a loss anew, where the root is computed."""
    for root in call.roots:
        for _, place in reversed(call.log.stack_of(root)):
            made = made_anew(place)
            if made is not None:
                return made
    return None


def _rewraps(statement: ast.stmt | None) -> bool:
    """`torch.tensor(loss.item(), requires_grad=True)`, `loss.detach().requires_grad_()`."""
    if statement is None:
        return False
    for node in ast.walk(statement):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        asks = any(
            keyword.arg == "requires_grad" and ast.unparse(keyword.value) == "True"
            for keyword in node.keywords
        )
        if name in COPIES and node.args and (asks or name == "Parameter"):
            if any(isinstance(inner, ast.Name) for inner in ast.walk(node.args[0])):
                return True
        if name == "requires_grad_" and isinstance(node.func, ast.Attribute):
            inside = ast.walk(node.func.value)
            cuts = {getattr(each, "attr", getattr(each, "id", "")) for each in inside}
            if cuts & {"detach", "data", "item", *COPIES}:
                return True
    return False


def _diagnosis(sent: Place, made: Place, last: Call, times: int) -> Diagnosis:
    return Diagnosis(
        cause="broken-graph",
        title=f"the loss that line {sent.line} sends back was made anew and has no history",
        why=f"Line {made.line} makes a new tensor of the number that the loss has. With "
        "requires_grad it can be sent back, but the graph begins and ends there: in "
        f"{times} calls no parameter was reached, and the steps train nothing by it.",
        error_line=made,
        created_at=list(dict.fromkeys([made, sent])),
        fixes=[Fix("keep-graph", made, "send back the loss itself")],
        spans=[Span("cut", made), Span("sent back", sent, last.log.places_of(last.stack))],
        facts={"calls": times},
    )
