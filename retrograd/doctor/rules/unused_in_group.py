"""Parameters of DistributedDataParallel that a step gave no gradient: the others wait for it.

PyTorch raises in the next forward, and names numbers. The line of the backward that is to blame,
the parameters and the lines that made them are known here.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

UNFINISHED = "Expected to have finished reduction in the prior iteration"
LOOKED_FOR = "Since `find_unused_parameters=True` is enabled"
CHANGED = "training graph has changed in this iteration"
WRAPPER = "DistributedDataParallel"
_NUMBERS = re.compile(r"Parameter indices which did not receive grad for rank (\d+): ([\d ]+)")
_SHOWN = 4  # names and places in a sentence


def unused_parameters(watched: Watched) -> Diagnosis | None:
    """ "Expected to have finished reduction in the prior iteration before starting a new one"."""
    at = raised.find(watched, UNFINISHED)
    if at is None:
        return None
    text = str(at.error)
    numbers = _NUMBERS.search(text)
    model = at.local("self", getattr(watched.engine.torch.nn.parallel, WRAPPER))
    if numbers is None or model is None:
        return None
    named = list(_awaited(model))
    missing = [named[int(number)] for number in numbers[2].split() if int(number) < len(named)]
    if not missing:
        return None
    names = [name for name, _ in missing]
    made = _made(watched, [parameter for _, parameter in missing])
    sent = _last_backward(watched)
    used = [name for name, parameter in missing if _had_one(watched, parameter)]
    shown = _listed([f"`{name}`" for name in names])
    spans = [Span("made", place) for place in made[:_SHOWN]]
    if sent is not None:
        spans.append(Span("sent back without them", sent[-1], sent))
    spans.append(Span("the next round begins", at.place, at.stack, primary=True))
    return Diagnosis(
        cause="ddp-unused-parameters",
        title=f"a step gave {shown} no gradient, and every process awaits one",
        why=_why(at, sent, names, used),
        error_line=at.place,
        created_at=made or [at.place],
        fixes=_fixes(watched, at, text, names, made, bool(used)),
        error=at.message,
        tensor=names[0] if len(names) == 1 else "",
        spans=spans,
        facts={"rank": numbers[1], "parameters": names},
    )


def _awaited(model: Any) -> Iterator[tuple[str, Any]]:
    """The parameters in the order of their numbers."""
    seen: set[int] = set()
    for path, module in model.module.named_modules():
        for own, parameter in module.named_parameters(recurse=False):
            ignored = f"{path}.{own}" in model.parameters_to_ignore
            if parameter.requires_grad and not ignored and id(parameter) not in seen:
                seen.add(id(parameter))
                yield f"{path}.{own}".lstrip("."), parameter


def _made(watched: Watched, parameters: list[Any]) -> list[Place]:
    """The lines that made them, each once."""
    log, found = watched.tracer.log, dict[Place, None]()
    for parameter in parameters:
        stack, _ = watched.recorder.registered_at.get(id(parameter), ([], 0))
        place = log.place_of(stack)
        if place is not None:
            found[place] = None
    return list(found)


def _last_backward(watched: Watched) -> list[Place] | None:
    for call in reversed(list(watched.recorder.calls)[-8:]):
        if call.kind == "backward":
            return call.log.places_of(call.stack) or None
    return None


def _had_one(watched: Watched, parameter: Any) -> bool:
    """Whether an earlier step gave it a gradient."""
    return parameter.grad is not None or id(parameter) in watched.recorder.gradients.received


def _why(at: Raised, sent: list[Place] | None, names: list[str], used: list[str]) -> str:
    where = "" if sent is None else f" in line {sent[-1].line}"
    it, them = ("it", "it") if len(names) == 1 else ("them", "they")
    story = (
        f"DistributedDataParallel averages each gradient over all processes, and a round is over "
        f"when every parameter had its gradient. The loss that was sent back{where} does not "
        f"depend on {it}, so this process has nothing to send, the others wait, and the next "
        f"forward raises."
    )
    if used:
        shown = _listed([f"`{name}`" for name in used])
        return f"{story} Earlier steps did use {shown}: a branch decides."
    return f"{story} No step before it gave {it} a gradient: {them} never took part in a loss."


def _fixes(
    watched: Watched, at: Raised, text: str, names: list[str], made: list[Place], used: bool
) -> list[Fix]:
    built = _wrapped_at(watched)
    place = built or at.place
    them = "it" if len(names) == 1 else "them"
    if LOOKED_FOR in text:
        return [
            Fix(
                "",
                place,
                "every result of forward() has to lead into the loss: leave out of the result "
                "what the loss does not use",
            )
        ]
    if CHANGED in text:
        return [Fix("", place, "static_graph=True promises that all steps use the same parameters")]
    look = Fix(
        "find-unused-parameters" if built is not None else "",
        place,
        "let each round look for what its loss does not use: find_unused_parameters=True",
        cost="each forward walks the graph once more",
    )
    where = made[0] if made else place
    if used:
        zero = f"let every loss depend on {them}: a sum of {them} times zero is enough"
        return [look, Fix("", where, zero)]
    use = Fix("", where, f"use {them} in the loss, or do not make {them}")
    freeze = Fix("", place, f"freeze {them} with requires_grad_(False) before the model is wrapped")
    return [look, use, freeze]


def _wrapped_at(watched: Watched) -> Place | None:
    """The one line that makes the DistributedDataParallel, if there is one."""
    found = {
        Place(file, node.lineno)
        for file in watched.tracer.log.chains.files()
        if os.path.exists(file)
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, ast.Call) and _called(node) in (WRAPPER, *_other_names(file))
    }
    return found.pop() if len(found) == 1 else None


def _called(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]


def _other_names(file: str) -> Iterator[str]:
    for node in ast.walk(source.tree_of(file)):
        if isinstance(node, ast.ImportFrom):
            for name in node.names:
                if name.name == WRAPPER and name.asname:
                    yield name.asname


def _listed(names: list[str]) -> str:
    """ "a, b and c"; of many the first ones, and how many more."""
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
