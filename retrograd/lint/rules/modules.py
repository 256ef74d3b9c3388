"""RGL41x: modules whose parameters are not found, and values that a module computed too early."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ..declare import Change, Found, repair, rule
from ..flow import Binding, Scope, Step, dotted
from ..program import ModuleClass, Program, mentions
from ..torch_names import SAVING_METHODS
from ..training import backwards, optimizer_calls
from ..values import Values

_REGISTERS = re.compile(
    r"add_module|register_module|setattr|def (named_)?(parameters|modules|children)\b"
)


@rule(
    "RGL411", "modules-in-plain-list", "a module keeps layers in a plain list or dict", fix="unsafe"
)
def modules_in_plain_list(program: Program) -> Iterator[Found]:
    for own in program.module_classes.values():
        made = own.methods.get("__init__")
        if made is None or _REGISTERS.search(own.text):
            continue
        for step in made.steps:
            for binding in step.bindings:
                found = _plain_container(program, made, own, binding)
                if found is None:
                    continue
                name, value = found
                kind = "ModuleDict" if isinstance(value, ast.Dict | ast.DictComp) else "ModuleList"
                spelled = _spelled(program, made, kind)
                fix = None
                if spelled is not None and not isinstance(value, ast.Tuple):
                    fix = repair(f"use nn.{kind}", (Change("wrap", value, spelled),))
                yield Found(
                    step.node,
                    f"`{name}` holds layers where `parameters()` does not find them",
                    (f"use `nn.{kind}`",),
                    fix,
                )
            for call in step.calls:
                if not (isinstance(call.func, ast.Attribute) and call.func.attr == "append"):
                    continue
                name = dotted(call.func.value) or ""
                if not name.startswith("self.") or not call.args or _registered(own, made, name):
                    continue
                empty = [b.value for b in made.bindings(name)]
                if len(empty) == 1 and isinstance(empty[0], ast.List) and not empty[0].elts:
                    if _is_layer(program, made, call.args[0]):
                        yield Found(
                            call,
                            f"`{name}` holds layers where `parameters()` does not find them",
                            (f"`{name} = nn.ModuleList()`",),
                        )


def _plain_container(
    program: Program, made: Scope, own: ModuleClass, binding: Binding
) -> tuple[str, ast.expr] | None:
    value = binding.value
    if binding.how != "assign" or value is None or not binding.name.startswith("self."):
        return None
    if binding.name.count(".") != 1 or _registered(own, made, binding.name):
        return None
    if isinstance(value, ast.List | ast.Tuple):
        layers = any(_is_layer(program, made, part) for part in value.elts)
    elif isinstance(value, ast.Dict):
        layers = any(_is_layer(program, made, part) for part in value.values)
    elif isinstance(value, ast.ListComp):
        layers = _is_layer(program, made, value.elt)
    elif isinstance(value, ast.DictComp):
        layers = _is_layer(program, made, value.value)
    else:
        return None
    return (binding.name, value) if layers else None


def _is_layer(program: Program, made: Scope, node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    return program.built(node, made).trains


def _registered(own: ModuleClass, made: Scope, name: str) -> bool:
    """Whether the layers of the list are also given to a container that registers them."""
    for method in own.methods.values():
        for step in method.steps:
            for call in step.calls:
                last = (dotted(call.func) or "").rpartition(".")[2]
                if last in ("ModuleList", "ModuleDict", "Sequential", "ParameterList"):
                    if any(mentions(argument, name) for argument in call.args):
                        return True
    return any(
        b.value is not None and mentions(b.value, name)
        for method in own.methods.values()
        for b in method.bindings(name)
    )


def _spelled(program: Program, scope: Scope, kind: str) -> str | None:
    """How the program would write `nn.ModuleList`."""
    at: Scope | None = scope
    while at is not None:
        names = {path: name for name, path in at.imported.items()}
        if "torch.nn" in names:
            return f"{names['torch.nn']}.{kind}"
        if "torch" in names:
            return f"{names['torch']}.nn.{kind}"
        at = at.outer
    return None


@rule(
    "RGL412", "computed-in-init", "a module computes a value from its parameters once, in __init__"
)
def computed_in_init(program: Program) -> Iterator[Found]:
    for own in program.module_classes.values():
        made = own.methods.get("__init__")
        if made is None or made.grad_off:
            continue
        values = Values(program, made)
        parameters = {
            binding.name
            for step in made.steps
            for binding in step.bindings
            if isinstance(binding.value, ast.Call)
            and program.qualified(binding.value.func, made) == "torch.nn.Parameter"
        }
        for step in made.steps:
            for binding in step.bindings:
                value = binding.value
                if step.grad_off or binding.how != "assign" or value is None:
                    continue
                if not binding.name.startswith("self.") or binding.name in parameters:
                    continue
                source = _saved_from(program, made, values, value, parameters, binding)
                if source is None or not _read_elsewhere(own, binding.name):
                    continue
                yield Found(
                    step.node,
                    f"`{binding.name}` is computed once from the parameter `{source}`",
                    ("compute it in `forward`, so that every step has its own graph",),
                )


def _saved_from(
    program: Program,
    made: Scope,
    values: Values,
    value: ast.expr,
    parameters: set[str],
    binding: Binding,
) -> str | None:
    """The parameter from which a value is computed by an operation that saves something."""
    saving = False
    source = None
    for seen in values.trail(value, binding.step):
        node = seen.node
        if not seen.certain and not (
            isinstance(node, ast.Attribute) and dotted(node) in parameters
        ):
            continue
        if isinstance(node, ast.Call):
            path = program.callee(node, made).path
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if path in ("torch.nn.Parameter", "torch.nn.parameter.Buffer"):
                return None
            saving = (
                saving
                or path.rpartition(".")[2] in SAVING_METHODS
                or (not path and method in SAVING_METHODS)
            )
        if isinstance(node, ast.Attribute) and dotted(node) in parameters:
            source = dotted(node)
    return source if saving else None


def _read_elsewhere(own: ModuleClass, name: str) -> bool:
    written = any(method.bindings(name) for key, method in own.methods.items() if key != "__init__")
    return not written and any(
        mentions(method.node, name) for key, method in own.methods.items() if key != "__init__"
    )


@rule(
    "RGL413",
    "loss-misses-the-optimizer",
    "the loss that is sent back has no path to the parameters that are stepped",
)
def loss_misses_the_optimizer(program: Program) -> Iterator[Found]:
    for scope in program.scopes:
        sent = backwards(program, scope)
        calls = optimizer_calls(program, scope)
        values = Values(program, scope)
        for step in calls:
            zero = [c for c in calls if c.kind == "zero_grad" and c.name == step.name]
            if step.kind != "step" or step.closure or len(zero) != 1:
                continue
            between = [b for b in sent if zero[0].step.index < b.step.index < step.step.index]
            inside = [b for b in sent if b.step.loops == step.step.loops]
            if len(between) != 1 or between[0].kind != "backward" or between[0] not in inside:
                continue
            if between[0].step.arms != step.step.arms or not zero[0].step.precedes(step.step):
                continue
            made = program.optimizer(step.name, scope)
            trained = program.trained_by(made) if made is not None else []
            if not trained or any(program.instance(n, scope).kind != "module" for n in trained):
                continue
            cut = _cut_from(program, scope, values, between[0].value, between[0].step, trained)
            if cut is not None:
                yield Found(
                    step.call,
                    f"`{step.name}` trains `{trained[0]}`, and the loss has no path to it: "
                    f"line {cut.lineno} detaches",
                    ("remove the `.detach()` in the loss of this step",),
                )


def _cut_from(
    program: Program, scope: Scope, values: Values, loss: ast.expr, step: Step, trained: list[str]
) -> ast.expr | None:
    """The place where a loss is cut off, if all other parts of it are other networks or numbers."""
    cut: ast.expr | None = None
    for seen in values.trail(loss, step):
        node = seen.node
        if not seen.certain:
            return None
        if isinstance(node, ast.Call):
            callee = program.callee(node, scope)
            name = dotted(node.func) or ""
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if method == "detach":
                cut = node
            elif callee.kind == "module":
                if callee.own is not None and len(trained) > 1:
                    return None
                if any(_may_be_in(program, name, whole) for whole in trained):
                    return None
                if callee.own is not None and any(t in callee.own.text for t in trained):
                    return None
            elif callee.kind in ("function", "unknown") and not method:
                return None
        elif isinstance(node, ast.Name):
            if scope.reaching(node.id, seen.step) is None:
                bindings = program.all_bindings(node.id, scope)
                if bindings is None or not all(isinstance(b.value, ast.Constant) for b in bindings):
                    return None
        elif isinstance(node, ast.Attribute):
            return None
    return cut


def _may_be_in(program: Program, part: str, whole: str) -> bool:
    """Whether a module is another one, or may have been put into it."""
    if part == whole or part.startswith(f"{whole}."):
        return True
    for place in program.scopes:
        for step in place.steps:
            for binding in step.bindings:
                about = binding.name == whole or binding.name.startswith(f"{whole}.")
                if about and binding.value is not None and mentions(binding.value, part):
                    return True
                if binding.name == part and binding.value is not None:
                    if mentions(binding.value, whole):
                        return True
            for call in step.calls:
                if (dotted(call.func) or "").startswith(f"{whole}."):
                    given = (*call.args, *(k.value for k in call.keywords))
                    if any(mentions(argument, part) for argument in given):
                        return True
    return False


RULES = (modules_in_plain_list, computed_in_init, loss_misses_the_optimizer)
