"""Edits of what stands around a step: the mode of the model, the clipping of gradients."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.backward_calls import set_argument
from retrograd.doctor.fixes.copies import deepcopy_name
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_read,
    receiver,
)


def train_mode(task: Task) -> None:
    """`model.train()` at the beginning of the loop's body, or after the line that evaluates."""
    draft = task.draft
    name = task.diagnosis.facts.get("module")
    if not name:
        raise CannotWrite("it is not known how the line calls the module")
    for node in ast.walk(draft.tree):
        if isinstance(node, (ast.For, ast.While)) and node.lineno == task.line:
            first = node.body[0]
            if draft.offset(first.lineno, 0) <= draft.start(node):
                raise CannotWrite("the loop stands in one line")
            draft.insert_before(first, f"{name}.train()")
            return
    draft.insert_after(task.statement, f"{name}.train()")


def evaluation_mode(task: Task) -> None:
    """`teacher.eval()` before the outermost loop around its call, or before the call."""
    draft, statement = task.draft, task.statement
    name = task.diagnosis.facts.get("evaluated")
    if not name:
        raise CannotWrite("it is not known how the line calls the module")
    inner = [n.target for n in ast.walk(statement) if isinstance(n, ast.comprehension)]
    if any(str(name).partition(".")[0] in names_bound(target) for target in inner):
        raise CannotWrite("the module has its name only inside of the line")
    scope = draft.scope_of(statement)
    loops = [
        loop
        for loop in draft.enclosing(statement, ast.For, ast.While)
        if draft.scope_of(loop) is scope
    ]
    switched = loops and any(
        isinstance(node, ast.Call) and called(node) == "train" for node in ast.walk(loops[-1])
    )
    known = not loops or str(name).partition(".")[0] not in names_bound(loops[-1])
    if loops and known and not switched:
        loop = loops[-1]
        assert isinstance(loop, (ast.For, ast.While))
        draft.insert_before(loop, f"{name}.eval()")
        return
    for around in draft.enclosing(statement, ast.With):
        assert isinstance(around, ast.With)
        if draft.scope_of(around) is scope and "grad" in ast.unparse(around.items[0]):
            statement = around
    draft.insert_before(statement, f"{name}.eval()")


def clip_before_step(task: Task) -> None:
    """The line that clips goes to before the step."""
    draft, clipping = task.draft, task.statement
    if task.diagnosis.cause != "clipped-after-step":
        raise CannotWrite("nothing is clipped")
    block = draft.block_of(clipping)
    for place in task.diagnosis.created_at:
        if task.same_file(place) is None or place == task.fix.place:
            continue
        step = draft.statement_at(place.line)
        if step not in block or block.index(step) >= block.index(clipping):
            continue
        between = block[block.index(step) : block.index(clipping)]
        if any(names_bound(other) & names_read(clipping) for other in between):
            raise CannotWrite("the line reads what the lines between set")
        start, end = draft.whole_lines(clipping)
        before, _ = draft.whole_lines(step)
        text = draft.text[start:end]
        if not text.endswith(("\n", "\r")):
            text += draft.newline(clipping)
        draft.replace(start, end, "")
        draft.replace(before, before, text)
        return
    raise CannotWrite("step and clipping are not statements of one block")


def clip_after_backward(task: Task) -> None:
    """The line that clips goes to before the step that follows the backward."""
    draft, clipping = task.draft, task.statement
    if task.diagnosis.cause != "clip-without-effect":
        raise CannotWrite("something is clipped")
    block = draft.block_of(clipping)
    for place in reversed(task.diagnosis.created_at):
        if task.same_file(place) is None or place == task.fix.place:
            continue
        step = draft.statement_at(place.line)
        if call_statement(step, "step") is None or step not in block:
            continue
        if block.index(step) > block.index(clipping):
            start, end = draft.whole_lines(clipping)
            before, _ = draft.whole_lines(step)
            draft.replace(before, before, draft.text[start:end])
            draft.replace(start, end, "")
            return
    raise CannotWrite("step and clipping are not statements of one block")


def renew_parameters(task: Task) -> None:
    """The generator's name becomes what has made it: `params = list(model.parameters())`."""
    draft = task.draft
    calls = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call) and called(node).startswith("clip_grad") and node.args
    ]
    name = dotted(calls[0].args[0]) if len(calls) == 1 else ""
    name = name or str(task.diagnosis.facts.get("iterator", ""))
    made = [
        pair[1]
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.stmt)
        and (pair := assigned(node)) is not None
        and name
        and dotted(pair[0]) == name
    ]
    if len(made) != 1 or not isinstance(made[0], (ast.Call, ast.GeneratorExp)):
        raise CannotWrite("it is not known what has made the generator")
    text = draft.written(made[0])
    if isinstance(made[0], ast.GeneratorExp):
        text = text.strip()[1:-1] if text.strip().startswith("(") else text
    draft.rewrite(made[0], f"list({text})")


def clear_for_step(task: Task) -> None:
    """Clear the optimizer of one certain step before a backward, in a closure or between steps."""
    draft, sent = task.draft, task.statement
    place = task.same_file(task.diagnosis.error_line)
    if not task.diagnosis.facts.get("of_step") or place is None:
        raise CannotWrite("it is not said which step is meant")
    step = draft.statement_at(place.line)
    calls = [
        node
        for node in draft.walk(step)
        if isinstance(node, ast.Call) and called(node) == "step" and "." in dotted(node.func)
    ]
    if len(calls) != 1:
        raise CannotWrite("the line is not a step")
    call = calls[0]
    if call_statement(sent, "backward") is None:
        raise CannotWrite("the line is not a backward")
    owner = dotted(receiver(call))
    scopes = draft.scope_of(step), draft.scope_of(sent)
    if "." in owner and scopes[0] is not scopes[1]:
        classes = [draft.parents.get(scope) for scope in scopes]
        own = owner.startswith("self.") and isinstance(classes[0], ast.ClassDef)
        if not own or classes[0] is not classes[1]:
            raise CannotWrite("the optimizer may be called otherwise there")
    draft.insert_before(sent, f"{owner}.zero_grad()")


def clone_views(task: Task) -> None:
    """`p.detach()` or `p.data` of each parameter becomes a copy."""
    draft = task.draft
    if not task.diagnosis.facts.get("views"):
        raise CannotWrite("the line keeps no views")
    value = getattr(task.statement, "value", None)
    if isinstance(value, ast.DictComp):
        value = value.value
    elif isinstance(value, ast.ListComp):
        value = value.elt
    if not isinstance(value, (ast.Call, ast.Attribute)):
        raise CannotWrite("the line keeps something else")
    draft.suffix(value, ".clone()")


def copy_module(task: Task) -> None:
    """`target = policy` becomes `target = copy.deepcopy(policy)`."""
    draft, pair = task.draft, assigned(task.statement)
    if not task.diagnosis.facts.get("alias") or pair is None:
        raise CannotWrite("the line gives no module a second name")
    if isinstance(pair[1], ast.Tuple):
        raise CannotWrite("the line names several modules")
    draft.rewrite(pair[1], f"{deepcopy_name(draft)}({draft.written(pair[1])})")


def tie_parameters(task: Task) -> None:
    """`b.weight.data = a.weight.data` becomes `b.weight = a.weight`."""
    draft, pair = task.draft, assigned(task.statement)
    if pair is None or not isinstance(pair[0], ast.Attribute) or pair[0].attr != "data":
        raise CannotWrite("the line writes no .data")
    target, value = pair[0].value, pair[1]
    if isinstance(value, ast.Attribute) and value.attr == "data":
        value = value.value
    if not dotted(target) or not dotted(value):
        raise CannotWrite("the line takes the memory of something else")
    draft.rewrite(task.statement, f"{draft.written(target)} = {draft.written(value)}")


def copy_state(task: Task) -> None:
    """`model.state_dict()` becomes a dictionary of copies."""
    draft = task.draft
    calls = [
        node
        for node in draft.walk(task.statement)
        if isinstance(node, ast.Call) and called(node) == "state_dict" and not node.args
    ]
    if not task.diagnosis.facts.get("state") or len(calls) != 1:
        raise CannotWrite("not exactly one state is taken in the line")
    around = draft.parents.get(calls[0])
    if isinstance(around, ast.Call) and called(around) == "dict" and len(around.args) == 1:
        calls[0] = around
    text = draft.written(calls[0])
    draft.rewrite(calls[0], f"{{k: v.clone() for k, v in {text}.items()}}")


def find_unused_parameters(task: Task) -> None:
    """The line that wraps the model asks for it."""
    draft = task.draft
    calls = [
        node
        for node in ast.walk(task.statement)
        if isinstance(node, ast.Call)
        and (called(node) == "DistributedDataParallel" or called(node) in _renamed(draft.tree))
    ]
    if len(calls) != 1:
        raise CannotWrite("not exactly one model is wrapped in the line")
    set_argument(draft, calls[0], "find_unused_parameters", "True", 7)


def _renamed(tree: ast.AST) -> set[str]:
    """What the program calls DistributedDataParallel."""
    names = [
        name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    ]
    return {name.asname for name in names if name.name == "DistributedDataParallel" and name.asname}
