"""Causes of "optimizer got an empty parameter list": hidden modules, or a used-up generator."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised, statements
from retrograd.doctor.evidence.last_layer import facts_of, is_frozen
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules.frozen import freezing
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.iterators import is_used_up

EMPTY = "optimizer got an empty parameter list"


def empty_optimizer(watched: Watched) -> Diagnosis | None:
    """What the optimizer was given, and why nothing is in it."""
    at = raised.find(watched, EMPTY)
    if at is None:
        return None
    return _hidden(at, watched.recorder.torch) or _used_up(at) or _frozen(at, watched)


def _calls(place: Place) -> Iterator[ast.Call]:
    statement = source.statement_at(place.file, place.line)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Call):
            yield node


def _hidden(at: Raised, torch: Any) -> Diagnosis | None:
    """Modules or parameters in a plain list or dict of the model."""
    for call in _calls(at.place):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "parameters":
            continue
        model = statements.value_of(call.func.value, at.frame)
        if not isinstance(model, torch.nn.Module):
            continue
        for module in model.modules():
            for name, value in vars(module).items():
                if not name.startswith("_") and _holds_parameters(value, torch):
                    line = _line_making(type(module), name)
                    if line is not None:
                        return _hidden_in(line, f"{type(module).__name__}.{name}", at)
    return None


def _holds_parameters(value: object, torch: Any) -> bool:
    if not isinstance(value, (list, tuple, dict)):
        return False
    inside = list(value.values()) if isinstance(value, dict) else list(value)
    return any(
        isinstance(item, torch.nn.Module)
        or (isinstance(item, torch.Tensor) and item.requires_grad)
        or _holds_parameters(item, torch)
        for item in inside[:50]
    )


def _line_making(kind: type, attribute: str) -> Place | None:
    """The line of a class, or of one it inherits from, that assigns an attribute."""
    for owner in kind.__mro__:
        code = getattr(owner.__dict__.get("__init__"), "__code__", None)
        if code is None:
            continue
        file = code.co_filename
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.ClassDef) and node.name == owner.__name__:
                for inner in ast.walk(node):
                    if isinstance(inner, (ast.Assign, ast.AnnAssign)):
                        names = source.assigned_names(file, inner.lineno)
                        if f"self.{attribute}" in names:
                            return Place(file, inner.lineno)
    return None


def _hidden_in(line: Place, name: str, at: Raised) -> Diagnosis:
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"`{name}` is a plain collection: parameters() does not see what is in it",
        why="A module finds its parameters through attributes that are modules or parameters "
        "themselves. Lists and dicts are not looked into, so the optimizer got nothing.",
        error_line=at.place,
        created_at=[line, at.place],
        fixes=[
            Fix("register-modules", line, "use nn.ModuleList, nn.ModuleDict or nn.ParameterList")
        ],
        error=at.message,
        spans=[Span("kept", line), Span("used", at.place, at.stack)],
    )


def _used_up(at: Raised) -> Diagnosis | None:
    """`parameters()` gives a generator: it can be gone through once."""
    for call in _calls(at.place):
        for argument in call.args:
            value = statements.value_of(argument, at.frame)
            if not is_used_up(value):
                continue
            name = ast.unparse(argument)
            lines = statements.lines_assigning(at.place, name)
            made = [Place(at.place.file, line) for line in lines[-1:]]
            return Diagnosis(
                cause="stale-optimizer-params",
                title=f"`{name}` was gone through before: nothing is left in it",
                why="parameters() gives a generator. Counting or printing the parameters has used "
                "it up, and the optimizer got nothing.",
                error_line=at.place,
                created_at=[*made, at.place],
                fixes=[Fix("rebuild-optimizer", at.place, "call parameters() again here")],
                error=at.message,
                tensor=name,
                spans=[Span("used", at.place, at.stack)],
            )
    return None


def _frozen(at: Raised, watched: Watched) -> Diagnosis | None:
    """`filter(lambda p: p.requires_grad, ...)` of a model in which nothing requires grad."""
    models = _frozen_models(at, watched.recorder.torch)
    lines = [line for file in watched.tracer.chains.files() for line in freezing(file)]
    if len(models) != 1:
        return None
    frozen = lines[0] if len(lines) == 1 else None
    fixes = [Fix("enable-grad", at.place, "or unfreeze the last layer before it is given away")]
    if frozen is not None:
        fixes.insert(0, Fix("enable-grad", frozen, "leave the parameters to be trained unfrozen"))
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"every parameter of `{models[0][0]}` is frozen: nothing is left for the optimizer",
        why="requires_grad is False for all of them, and the optimizer is given those that require "
        "grad.",
        error_line=at.place,
        created_at=[*([] if frozen is None else [frozen]), at.place],
        fixes=fixes,
        error=at.message,
        spans=[
            *([] if frozen is None else [Span("frozen", frozen)]),
            Span("used", at.place, at.stack),
        ],
        facts=facts_of(models[0][1]),
    )


def _frozen_models(at: Raised, torch: Any) -> list[tuple[str, Any]]:
    """The modules in the variables of the failing frame that are frozen as a whole."""
    names = dict(at.frame.f_globals)
    names.update(at.frame.f_locals)
    found: dict[int, tuple[str, Any]] = {}
    owner = names.get("self")
    if owner is not None and not isinstance(owner, torch.nn.Module):
        held = vars(owner) if hasattr(owner, "__dict__") else {}
        names.update({f"self.{name}": value for name, value in held.items()})
    for name, value in names.items():
        if isinstance(value, torch.nn.Module) and is_frozen(value):
            found.setdefault(id(value), (name, value))
    inner = {id(p) for _, each in found.values() for p in each.modules() if p is not each}
    return [pair for key, pair in found.items() if key not in inner]
