"""Parameters of a module beside the model, of a loss for instance, that no optimizer holds."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from retrograd.diagnostics.report import Fix, Place, Span
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.rules import forgotten
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.ownership import Look

TIMES = 2

DELIBERATE = (
    *forgotten.DELIBERATE,
    *("backbone", "encoder", "extract", "feature", "pretrained", "prior", "random", "dummy"),
)
"""Words in a name that say: this is not meant to be trained."""


def diagnose(watched: Watched, seen: list[Look]) -> Diagnosis | None:
    """What all looks at one optimizer have shown: the same parameters, always of the same value."""
    last = seen[-1]
    loose = _loose(watched, seen)
    if loose is not None:
        return loose
    if len(seen) < TIMES or not last.aside or any(look.aside != last.aside for look in seen):
        return None
    names = [name for name, _ in last.aside]
    classes = {name.partition(".")[0] for name in names}
    log = watched.tracer.log
    stack = watched.recorder.built_at.get(id(last.optimizer), [])
    built = log.place_of(stack)
    files = log.chains.files()
    if built is None or len(classes) != 1 or _is_meant(names, files):
        return None
    owner, kind = classes.pop(), type(last.optimizer).__name__
    variable = variable_of(owner, files)
    some = ", ".join(f"`{name}`" for name in names[:3])
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"no optimizer holds {some}",
        why=f"The parameters of `{owner}` take part in the loss and get gradients in each step, "
        f"but they are not among those that the {kind} was given, and they keep their first "
        "values.",
        error_line=built,
        created_at=list(dict.fromkeys(reversed(log.places_of(stack)))),
        fixes=[Fix("rebuild-optimizer", built, "give the optimizer these parameters too")],
        spans=[Span("built", built, log.places_of(stack))],
        tensor=variable,
        facts={"held": last.held, "aside": variable},
    )


def _loose(watched: Watched, seen: list[Look]) -> Diagnosis | None:
    """Tensors of the program's own, `torch.zeros(2, requires_grad=True)`, that stay as they are."""
    last, log = seen[-1], watched.tracer.log
    if len(seen) < TIMES:
        return None
    files = log.chains.files()
    stack = watched.recorder.built_at.get(id(last.optimizer), [])
    built = log.place_of(stack)
    for key, (_, value, path) in last.loose_values.items():
        others = [look.loose_values.get(key, (None, None, ""))[1] for look in seen]
        if built is None or any(each != value for each in others):
            continue
        made = [each for file in files for each in _learned(file)]
        if path:
            made = [each for each in made if each.name == _word(path)]
        elif len(last.loose_values) > 1:
            continue
        if len(made) != 1 or _is_meant([made[0].name], files):
            continue
        if not any(_is_input(made[0].name, file) for file in files):
            return _not_given(watched, last, made[0], path, built)
    return None


def _is_input(name: str, file: str) -> bool:
    """Whether something of the program is called with it alone: `model(x)`."""
    return any(
        isinstance(node, ast.Call)
        and len(node.args) == 1
        and _last(node.args[0]) == name
        and not ast.unparse(node.func).startswith(("torch.", "F.", "nn.", "math."))
        and _last(node.func) not in ("print", "float", "len", "list", "id", "append")
        for node in ast.walk(source.tree_of(file))
    )


def _not_given(watched: Watched, look: Look, made: Learned, path: str, built: Place) -> Diagnosis:
    path = "" if "(its " in path else path
    name = re.split(r"\[", path or made.name, maxsplit=1)[0]
    beside = source.function_around(made.place.file, made.place.line)
    if beside is source.function_around(built.file, built.line):
        name = made.text  # `self.alpha` in the `__init__` that builds the optimizer as well
    stars = {"list": "*", "dict": "*"}.get(made.kind, "")
    more = stars + name + (".values()" if made.kind == "dict" else "")
    log = watched.tracer.log
    places = log.places_of(watched.recorder.built_at.get(id(look.optimizer), []))
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"no optimizer holds `{name}`",
        why=f"`{name}` requires grad, takes part in the loss and gets a gradient in each step, but "
        f"it is not among what the {type(look.optimizer).__name__} was given: it keeps its first "
        "value.",
        error_line=built,
        created_at=list(dict.fromkeys([built, made.place])),
        fixes=[Fix("rebuild-optimizer", built, "give the optimizer this tensor too")],
        spans=[Span("made", made.place), Span("built", built, places)],
        tensor=name,
        facts={"held": look.held, "aside": name if path else "", "more": more},
    )


def _word(path: str) -> str:
    """The last name of a path: `alpha` of `self.weights.alpha[2]`."""
    path = path.rpartition("(its ")[2].rstrip(")")  # a variable of a function that was made
    return re.split(r"\[", path, maxsplit=1)[0].rpartition(".")[2]


@dataclass(frozen=True)
class Learned:
    """A statement that makes tensors that require grad, and what keeps them."""

    name: str
    place: Place
    kind: str  # "", "list", "dict"
    text: str  # "self.alpha"


def _learned(file: str) -> list[Learned]:
    """Statements `name = torch.zeros(..., requires_grad=True)`, also in a list or a dict."""
    found = []
    for node in ast.walk(source.tree_of(file)):
        pair = (node.targets[0], node.value) if isinstance(node, ast.Assign) else None
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            pair = node.target, node.value
        if pair is None or not isinstance(pair[0], (ast.Name, ast.Attribute)):
            continue
        value, kind = pair[1], ""
        if isinstance(value, (ast.List, ast.ListComp)):
            kind = "list"
        elif isinstance(value, (ast.Dict, ast.DictComp)):
            kind = "dict"
        if any(_requires(each) for each in ast.walk(value) if isinstance(each, ast.Call)):
            place = Place(file, pair[0].lineno)
            found.append(Learned(_last(pair[0]), place, kind, ast.unparse(pair[0])))
    return found


def _requires(call: ast.Call) -> bool:
    name = _last(call.func)
    asks = any(
        k.arg == "requires_grad" and getattr(k.value, "value", False) is True for k in call.keywords
    )
    return asks or name == "Parameter" or (name == "requires_grad_" and not call.args)


def variable_of(owner: str, files: list[str]) -> str:
    """`criterion` of the one line `criterion = CenterLoss(...)`."""
    found = {
        ast.unparse(node.targets[0])
        for file in files
        for node in ast.walk(source.tree_of(file))
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], (ast.Name, ast.Attribute))
        and any(
            isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] == owner
            for call in ast.walk(node.value)
        )
    }
    return found.pop() if len(found) == 1 else ""


def _is_meant(names: list[str], files: list[str]) -> bool:
    """Whether the name says so, or the program reads a gradient of that name."""
    if any(word in name.lower() for name in names for word in DELIBERATE):
        return True
    attributes = {name.rpartition(".")[2] for name in names}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == "grad"
        and (
            getattr(node.value, "attr", getattr(node.value, "id", "")) in attributes
            or isinstance(node.ctx, ast.Store)
        )
        for file in files
        for node in ast.walk(source.tree_of(file))
    )


def _last(node: ast.expr) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))
