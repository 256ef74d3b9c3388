"""Errors of functions given to `func.grad`, and of hooks on tensors without history."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import Any

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

NOT_A_NUMBER = "to return a scalar tensor, got"  # in small letters: PyTorch writes it both ways
HOOK = "cannot register a hook on a tensor that doesn't require gradient"


def non_scalar(watched: Watched) -> Diagnosis | None:
    """ "grad_and_value(f)(*args): Expected f(*args) to return a scalar tensor"."""
    at = raised.find(watched, NOT_A_NUMBER, NOT_A_NUMBER.replace("tensor", "Tensor"))
    place = None if at is None else _returned(at, watched)
    if at is None or place is None:
        return None
    return Diagnosis(
        cause="non-scalar",
        title="grad() is given a function that returns several elements",
        why=f"grad() differentiates a single number, and what line {place.line} returns has "
        "several elements: reduce them to one. The derivative of each of them is what "
        "torch.func.jacrev gives.",
        error_line=at.place,
        created_at=list(dict.fromkeys([place, at.place])),
        fixes=[Fix("reduce-loss", place, "return the mean or the sum")],
        error=at.message,
        spans=[Span("returned", place), Span("differentiated", at.place, at.stack)],
    )


def _returned(at: Raised, watched: Watched) -> Place | None:
    """The one line where the function that was to be differentiated returns its result."""
    functions = [_plain(frame.f_locals.get("func")) for frame in reversed(at.library)]
    own = [f for f in functions if f and watched.tracer.is_user_file(f.__code__.co_filename)]
    if not own:
        return None
    code = own[0].__code__
    around = source.function_around(code.co_filename, code.co_firstlineno)
    for node in ast.walk(source.tree_of(code.co_filename)):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                around = node
                break
    else:
        return None
    returns = [node for node in ast.walk(around) if isinstance(node, ast.Return)]
    if len(returns) != 1:
        return None
    return Place(code.co_filename, returns[0].lineno, code.co_qualname)


def _plain(function: Any) -> FunctionType | None:
    """A function without what wraps it: the method, what `partial` or a transform was given."""
    for _ in range(8):
        if isinstance(function, FunctionType) and "__wrapped__" not in vars(function):
            return function
        inner = getattr(function, "__wrapped__", None) or getattr(function, "__func__", None)
        function = inner or getattr(function, "func", None)
    return None


def hook_without_history(watched: Watched) -> Diagnosis | None:
    """ "cannot register a hook on a tensor that doesn't require gradient"."""
    at = raised.find(watched, HOOK)
    if at is None:
        return None
    return Diagnosis(
        cause="broken-graph",
        title="a hook is put on a tensor that no gradient can reach",
        why="Nothing that the tensor was computed from requires grad: its parameters are frozen, "
        "or gradients were switched off. It has no history, so no gradient would ever arrive.",
        error_line=at.place,
        created_at=[at.place],
        fixes=[
            Fix("make-leaf", at.place, "call requires_grad_() on it first: gradients then end here")
        ],
        error=at.message,
        spans=[Span("hooked", at.place, at.stack)],
    )
