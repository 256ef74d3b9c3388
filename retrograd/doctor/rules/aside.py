"""Parameters of a module beside the model, of a loss for instance, that no optimizer holds."""

from __future__ import annotations

import ast

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
    variable = _variable(owner, files)
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
    """A small tensor of the program's own, `torch.zeros(2, requires_grad=True)`, that stays."""
    last, log = seen[-1], watched.tracer.log
    if len(seen) < TIMES or len(last.loose_values) != 1:
        return None
    ((key, (_, value)),) = last.loose_values.items()
    if any(look.loose_values.get(key, (None, None))[1] != value for look in seen):
        return None
    files = log.chains.files()
    made = [place for file in files for place in _learned(file)]
    stack = watched.recorder.built_at.get(id(last.optimizer), [])
    built = log.place_of(stack)
    if built is None or len(made) != 1 or _is_meant([made[0][0]], files):
        return None
    name, place = made[0]
    if any(
        isinstance(node, ast.Call) and ast.unparse(node.func).endswith("autograd.grad")
        for node in ast.walk(source.tree_of(place.file))
    ):
        return None
    return Diagnosis(
        cause="stale-optimizer-params",
        title=f"no optimizer holds `{name}`",
        why=f"`{name}` requires grad, takes part in the loss and gets a gradient in each step, but "
        f"it is not among what the {type(last.optimizer).__name__} was given: it keeps its first "
        "value.",
        error_line=built,
        created_at=list(dict.fromkeys([built, place])),
        fixes=[Fix("rebuild-optimizer", built, "give the optimizer this tensor too")],
        spans=[Span("made", place), Span("built", built, log.places_of(stack))],
        tensor=name,
        facts={"held": last.held, "aside": name, "tensor": True},
    )


def _learned(file: str) -> list[tuple[str, Place]]:
    """Statements `name = torch.zeros(..., requires_grad=True)` or `name = nn.Parameter(...)`."""
    found = []
    for node in ast.walk(source.tree_of(file)):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        call = node.value
        if isinstance(call, ast.Call) and (
            any(k.arg == "requires_grad" for k in call.keywords)
            or ast.unparse(call.func).endswith("Parameter")
        ):
            found.append((node.targets[0].id, Place(file, node.lineno)))
    return found


def _variable(owner: str, files: list[str]) -> str:
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
