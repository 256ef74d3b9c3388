"""Errors out of the backward of a custom Function: its text is what is wrong, not the call."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.evidence import raised
from retrograd.doctor.evidence.raised import Raised
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source

COUNT = re.compile(
    r"function (\w+)Backward returned an incorrect number of gradients "
    r"\(expected (\d+), got (\d+)\)"
)
SHAPE = re.compile(
    r"Function (\w+)Backward returned an invalid gradient at index (\d+) - got (\[.*?\]) but "
    r"expected shape compatible with (\[.*?\])"
)
ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"
DECORATOR = "once_differentiable"
LEAVES_AUTOGRAD = frozenset("numpy item tolist detach no_grad data from_numpy autograd".split())

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Found:
    """A custom Function of the program."""

    file: str
    kind: ast.ClassDef
    forward: Function | None
    backward: Function
    applied: list[Place]  # where the graph that was sent back has used it

    def place(self, line: int) -> Place:
        """A line of its backward."""
        return Place(self.file, line, f"{self.kind.name}.{self.backward.name}")

    @property
    def returns(self) -> list[ast.Return]:
        """The return statements of its backward."""
        return [node for node in ast.walk(self.backward) if isinstance(node, ast.Return)]


def custom_function(watched: Watched) -> Diagnosis | None:
    """Too few or too many gradients, one of a wrong shape, or a backward that has no derivative."""
    for rule in (_count, _shape, _once):
        found = rule(watched)
        if found is not None:
            return found
    return None


def _count(watched: Watched) -> Diagnosis | None:
    at = raised.find(watched, "returned an incorrect number of gradients")
    said = None if at is None else COUNT.search(str(at.error))
    found = None if said is None else _function(watched, said[1])
    if at is None or said is None or found is None or not found.returns:
        return None
    want, got = int(said[2]), int(said[3])
    names = [] if found.forward is None else [each.arg for each in found.forward.args.args[1:]]
    listed = f" ({', '.join(names)})" if len(names) == want else ""
    return _completed(
        Diagnosis(
            cause="custom-function",
            title=f"backward of {found.kind.name} returned {got} gradient{'s' * (got != 1)}, and "
            f"forward has {want} argument{'s' * (want != 1)}",
            why=f"backward() returns one value for each argument of forward() after ctx{listed}, "
            "in their order: None for those that are not tensors or need no gradient.",
            fixes=[
                Fix(
                    "return-gradients",
                    found.place(found.returns[-1].lineno),
                    "return one value for each argument, None for those without a gradient",
                )
            ],
            facts={"want": want, "got": got, "needs": _needs(watched, said[1])},
        ),
        found,
        found.returns[-1].lineno,
        at,
    )


def _shape(watched: Watched) -> Diagnosis | None:
    at = raised.find(watched, "returned an invalid gradient at index")
    said = None if at is None else SHAPE.search(str(at.error))
    found = None if said is None else _function(watched, said[1])
    if at is None or said is None or found is None or not found.returns:
        return None
    names = [] if found.forward is None else [each.arg for each in found.forward.args.args[1:]]
    index = int(said[2])
    name = f"`{names[index]}`" if index < len(names) else f"argument {index}"
    line = found.returns[-1].lineno
    return _completed(
        Diagnosis(
            cause="custom-function",
            title=f"backward of {found.kind.name} returned a gradient of shape {said[3]} for "
            f"{name}, which has {said[4]}",
            why="The gradient of an argument has its shape. Where forward() has broadcast the "
            "argument, backward() sums over what broadcasting has added.",
            fixes=[Fix("return-gradients", found.place(line), f"reduce it to the shape of {name}")],
            facts={"index": index},
        ),
        found,
        line,
        at,
    )


def _once(watched: Watched) -> Diagnosis | None:
    at = raised.find(watched, ONCE)
    if at is None:
        return None
    marked = [each for each in _functions(watched) if _decorator(each.backward) is not None]
    used = [each for each in marked if each.applied] or marked
    if len(used) != 1:
        return None
    found = used[0]
    decorator = _decorator(found.backward)
    assert decorator is not None
    text = "write backward() with tensor operations on what forward() was given, and drop the mark"
    fit = _has_derivative(found)
    if fit:
        text = "drop the mark: this backward() is made of operations that have a derivative"
    return _completed(
        Diagnosis(
            cause="custom-function",
            title=f"backward of {found.kind.name} is differentiated, and it is marked "
            "@once_differentiable",
            why="The mark says that backward() is not recorded. A gradient that was taken with "
            "create_graph=True leads through it, and the second derivative ends there.",
            fixes=[Fix("drop-once-differentiable", found.place(decorator.lineno), text)],
            facts={"fit": fit},
        ),
        found,
        decorator.lineno,
        at,
    )


def _completed(diagnosis: Diagnosis, found: Found, line: int, at: Raised) -> Diagnosis:
    place = found.place(line)
    diagnosis.error_line, diagnosis.error = at.place, at.message
    diagnosis.created_at = list(dict.fromkeys([place, *reversed(found.applied)]))
    applied = [Span("used", found.applied[-1], found.applied)] if found.applied else []
    diagnosis.spans = [Span("written", place), *applied, Span("sent back", at.place, at.stack)]
    return diagnosis


# --------------------------------------------------------------------------------- finding


def _functions(watched: Watched) -> Iterator[Found]:
    """The custom Functions in the files of the program that have run."""
    for file in watched.tracer.chains.files():
        for node in ast.walk(source.tree_of(file)):
            if isinstance(node, ast.ClassDef):
                methods = {each.name: each for each in node.body if isinstance(each, Function)}
                backward = methods.get("backward", methods.get("vjp"))
                if backward is not None and node.bases:
                    used = _applied(watched, node.name)
                    yield Found(file, node, methods.get("forward"), backward, used)


def _function(watched: Watched, name: str) -> Found | None:
    """The one of this name."""
    found = [each for each in _functions(watched) if each.kind.name == name]
    return found[0] if len(found) == 1 else None


def _nodes(watched: Watched, name: str) -> list[object]:
    failure = watched.recorder.failure
    nodes = {} if failure is None else failure.nodes
    return [node for node in nodes if type(node).__name__ == f"{name}Backward"]


def _applied(watched: Watched, name: str) -> list[Place]:
    """The newest use of it in the graph that was sent back."""
    failure = watched.recorder.failure
    if failure is None:
        return []
    numbers = [failure.nodes[node] for node in _nodes(watched, name)]
    return [place for _, place in failure.call.log.stack_of(max(numbers))] if numbers else []


def _needs(watched: Watched, name: str) -> list[bool]:
    """Which arguments need a gradient, as the node says."""
    for node in _nodes(watched, name):
        needs = getattr(node, "needs_input_grad", None)
        if isinstance(needs, tuple):
            return [bool(each) for each in needs]
    return []


def _decorator(function: Function) -> ast.expr | None:
    for decorator in function.decorator_list:
        if getattr(decorator, "attr", getattr(decorator, "id", "")) == DECORATOR:
            return decorator
    return None


def _has_derivative(found: Found) -> bool:
    """Whether all that backward reads is what forward was given or has returned, as tensors.

    A value from the middle of forward is saved without its history: the second derivative would
    lack a part without a word.
    """
    if found.forward is None:
        return False
    known = {each.arg for each in found.forward.args.args}
    for node in ast.walk(found.forward):
        if isinstance(node, ast.Return) and node.value is not None:
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            known |= {each.id for each in values if isinstance(each, ast.Name)}
    for node in ast.walk(found.forward):
        kept: list[ast.expr] = []
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "save_for_backward":
            kept = node.args
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            kept = [node.value]
        if not all(isinstance(e, ast.Name) and e.id in known for e in kept):
            return False
    names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(found.backward)}
    return not names & LEAVES_AUTOGRAD and not names & {"np", "numpy"}
