"""Errors of optimizers, schedules, hooks and modules that are called as they do not take it.

What is wrong stands in the line that fails: each entry knows the words of one error, and an edit
(`fixes/wrong_calls.py`) has its name.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised, statements
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

CAUSE = "wrong-call"


@dataclass(frozen=True)
class Entry:
    """The words of an error, and what to say about it."""

    words: str
    edit: str
    title: str
    why: str
    fix: str
    kind: str = ""


ENTRIES = (
    Entry(
        "some parameters appear in more than one parameter group",
        "groups",
        "a parameter is given to the optimizer in two groups",
        "Each parameter belongs to one group, whose settings its step uses. The parameters of a "
        "model include those of all its parts.",
        "leave out of the first group what has a group of its own",
        "rebuild-optimizer",
    ),
    Entry(
        "optimizer can only optimize Tensors, but one of the params is",
        "flatten",
        "the optimizer is given a list of generators, not of parameters",
        "parameters() gives a generator. A list of two of them holds no tensor.",
        "put the parameters themselves into the list",
        "rebuild-optimizer",
    ),
    Entry(
        "params argument given to the optimizer should be an iterable of Tensors",
        "listed",
        "the optimizer is given a single tensor, not a list of parameters",
        "An optimizer takes the parameters as a list, also where it is a single one.",
        "put it into a list",
        "rebuild-optimizer",
    ),
    Entry(
        "step() missing 1 required positional argument: 'metrics'",
        "metrics",
        "a schedule that follows a metric is not given it",
        "ReduceLROnPlateau lowers the rate when a value stops falling: step() has to be told it.",
        "hand the value over that it is to follow",
    ),
    Entry(
        "step() missing 1 required positional argument: 'closure'",
        "closure",
        "LBFGS steps without a closure",
        "LBFGS computes the loss several times in each step, so it needs a function that clears "
        "the gradients, computes the loss, sends it back, and returns it.",
        "put what computes the loss into a closure",
    ),
    Entry(
        "float() argument must be a string or a real number, not 'NoneType'",
        "closure_returns",
        "the closure returns no loss",
        "The optimizer compares the losses that its closure returns.",
        "return the loss",
    ),
    Entry(
        "as parameter",
        "parameter",
        "a tensor is assigned where a module has a parameter",
        "A module keeps its parameters as nn.Parameter: a plain tensor would be in no optimizer "
        "and in no state_dict().",
        "write the values into the parameter, without recording it",
        "no-grad",
    ),
    Entry(
        "before Module.__init__() call",
        "super",
        "a module gets its parts before super().__init__() has run",
        "super().__init__() makes the places in which a module registers parts and parameters.",
        "call super().__init__() first",
    ),
    Entry(
        "Backward hook returned an invalid number of grad_input",
        "hook",
        "a backward hook returns another number of gradients than the module has inputs",
        "What a full backward hook returns takes the place of grad_input: a tuple with one "
        "gradient for each input. The gradients of weights are not among them.",
        "return as many gradients as grad_input has",
    ),
    Entry(
        "'NoneType' object has no attribute 'zero_'",
        "zero",
        "a gradient is cleared that is not there yet",
        "`.grad` is None until the first backward has filled it.",
        "clear it only if there is one",
    ),
    Entry(
        "'NoneType' object has no attribute 'backward'",
        "returns",
        "the function that computes the loss returns nothing",
        "A function without a `return` gives None.",
        "return the loss",
    ),
    Entry(
        "'tuple' object has no attribute 'backward'",
        "unpack",
        "what is sent back is a tuple, not the loss",
        "The function returns several values; the loss is one of them.",
        "take the loss out of it",
    ),
)


def wrong_call(watched: Watched) -> Diagnosis | None:
    """The entry of the error, where the line that fails is of this kind."""
    for entry in ENTRIES:
        at = raised.find(watched, entry.words)
        if at is not None and (places := _places(entry, at, watched)):
            return _diagnosis(entry, at, places)
    return None


def _diagnosis(entry: Entry, at: Raised, places: list[Place]) -> Diagnosis:
    return Diagnosis(
        cause=CAUSE,
        title=entry.title,
        why=entry.why,
        error_line=at.place,
        created_at=list(dict.fromkeys([*places, at.place])),
        fixes=[Fix(entry.kind, places[0], entry.fix)],
        error=at.message,
        spans=[
            *(Span("written", place) for place in places[:1] if place != at.place),
            Span("failed", at.place, at.stack),
        ],
        facts={"edit": entry.edit},
    )


def _places(entry: Entry, at: Raised, watched: Watched) -> list[Place]:
    """The line to change; [] if the error is about something else."""
    text = source.text_at(at.place.file, at.place.line)
    if entry.edit in ("returns", "unpack"):
        return _maker(entry, at) if ".backward(" in text else []
    if entry.edit == "zero":
        return [at.place] if _clears(at, watched) else []
    if entry.edit == "closure_returns":
        return _closure(at)
    if entry.edit == "parameter":
        return [at.place] if str(at.error).startswith("cannot assign") else []
    if entry.edit == "hook":
        return _hooks(at)
    return [at.place]


def _clears(at: Raised, watched: Watched) -> bool:
    """Whether the line clears the gradient of a tensor."""
    return any(
        isinstance(statements.value_of(node.value.value, at.frame), watched.recorder.torch.Tensor)
        for node in ast.walk(source.tree_of(at.place.file))
        if isinstance(node, ast.Attribute) and node.lineno == at.place.line
        if node.attr == "zero_" and isinstance(node.value, ast.Attribute)
        if node.value.attr == "grad"
    )


def _maker(entry: Entry, at: Raised) -> list[Place]:
    """The function that made the value that is sent back, or the line that called it."""
    owners = [
        node.func.value
        for node in ast.walk(source.tree_of(at.place.file))
        if isinstance(node, ast.Call) and node.lineno == at.place.line
        if isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
    ]
    if len(owners) != 1:
        return []
    lines = statements.lines_assigning(at.place, ast.unparse(owners[0]))
    made = [n for n in lines if n <= at.place.line][-1:]
    if not made:
        return []
    line = Place(at.place.file, made[0], at.place.function)
    if entry.edit == "unpack":
        return [line]
    making = source.statement_at(line.file, line.line)
    names = {
        getattr(node.func, "attr", getattr(node.func, "id", ""))
        for node in ([] if making is None else ast.walk(making))
        if isinstance(node, ast.Call)
    }
    for node in ast.walk(source.tree_of(line.file)):
        if isinstance(node, ast.FunctionDef) and node.name in names:
            if not any(isinstance(each, ast.Return) for each in ast.walk(node)):
                return [Place(line.file, node.body[-1].lineno, node.name), line]
    return []


def _closure(at: Raised) -> list[Place]:
    """The last line of the closure that an optimizer was given."""
    for frame in reversed(at.library):
        given = frame.f_locals.get("orig_closure") or frame.f_locals.get("closure")
        code = getattr(given, "__code__", None)
        inner = getattr(code, "co_filename", "")
        names = [code.co_name] if code is not None and inner == at.place.file else []
        for node in ast.walk(source.tree_of(at.place.file)):
            if isinstance(node, ast.FunctionDef) and node.name in (*names, "closure"):
                if not any(isinstance(each, ast.Return) for each in ast.walk(node)):
                    return [Place(at.place.file, node.body[-1].lineno, node.name)]
    return []


def _hooks(at: Raised) -> list[Place]:
    """The last `return` of the function that was registered, where there is one such."""
    names: set[str] = set()
    for node in ast.walk(source.tree_of(at.place.file)):
        if isinstance(node, ast.Call) and "backward_hook" in getattr(node.func, "attr", ""):
            names |= {getattr(each, "attr", getattr(each, "id", "")) for each in node.args}
    return [
        Place(at.place.file, inner.lineno, node.name)
        for node in ast.walk(source.tree_of(at.place.file))
        if isinstance(node, ast.FunctionDef) and node.name in names
        for inner in ast.walk(node)
        if isinstance(inner, ast.Return) and isinstance(inner.value, ast.Tuple)
    ]
