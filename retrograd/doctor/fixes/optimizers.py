"""Edits of what an optimizer holds: when it is built, of what, and what modules register."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.carried import must_be_known
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_of_scope,
    names_read,
    receiver,
)


def rebuild_optimizer(task: Task) -> None:
    """Build the optimizer after the line that replaces the parameters."""
    draft, statement = task.draft, task.statement
    places = [*task.diagnosis.created_at, *(span.place for span in task.diagnosis.spans)]
    pair = assigned(statement)
    if pair is None or not isinstance(pair[1], ast.Call) or not dotted(pair[0]):
        raise CannotWrite("the line does not build the optimizer")
    block = draft.block_of(statement)
    for place in places:
        if task.same_file(place) is None:
            continue
        if task.diagnosis.error and place == task.diagnosis.error_line:
            continue  # nothing was replaced there
        try:
            other = draft.statement_at(place.line)
        except CannotWrite:
            continue
        while other not in block and other in draft.parents:
            parent = draft.parents[other]
            if not isinstance(parent, ast.stmt):
                break
            other = parent
        if other in block and block.index(other) > block.index(statement):
            _move_down(draft, block, statement, other)
            return
    for other in block[: block.index(statement) : -1]:
        if _changes_one_of(other, names_read(pair[1])):
            _move_down(draft, block, statement, other)
            return
    raise CannotWrite("the parameters are not replaced in the same block")


def _changes_one_of(statement: ast.stmt, names: set[str]) -> bool:
    """`model.head = ...`: whether a statement replaces a part of one of the objects."""
    pair = assigned(statement)
    return pair is not None and dotted(pair[0]).split(".")[0] in names


def rebuild_with_model(task: Task) -> None:
    """A method makes the model of an object anew: the optimizer beside it is built anew as well."""
    draft = task.draft
    built = next((s.place for s in task.diagnosis.spans if s.label == "built"), None)
    if task.same_file(built) is None or built is None:
        raise CannotWrite("the optimizer is built in another file")
    statement = draft.statement_at(built.line)
    pair, maker = assigned(statement), draft.scope_of(statement)
    owner = draft.parents.get(maker)
    if (
        pair is None
        or not dotted(pair[0]).startswith("self.")
        or not isinstance(owner, ast.ClassDef)
    ):
        raise CannotWrite("the optimizer is no attribute of an object")
    parts = {dotted(node) for node in ast.walk(pair[1]) if isinstance(node, ast.Attribute)}
    replacing = [
        node
        for node in ast.walk(owner)
        if isinstance(node, ast.stmt)
        and draft.scope_of(node) is not maker
        and draft.parents.get(draft.scope_of(node)) is owner
        and (made := assigned(node)) is not None
        and dotted(made[0]) in parts
        and dotted(made[0]).startswith("self.")
    ]
    if len(replacing) != 1:
        raise CannotWrite("not exactly one method makes the model anew")
    draft.insert_after(replacing[0], _for_all_methods(draft, statement))


def _for_all_methods(draft: Draft, statement: ast.stmt) -> str:
    """A line of `__init__` as another method can have it: its arguments become attributes."""
    maker, text = draft.scope_of(statement), draft.written(statement)
    assert isinstance(maker, (ast.FunctionDef, ast.AsyncFunctionDef))
    arguments = names_bound(maker.args) - {"self"}
    others = names_of_scope(maker) - arguments - names_bound(statement) - {"self"}
    if "\n" in text or names_read(statement) & others:
        raise CannotWrite("the line needs what only its function has")
    kept: list[str] = []
    uses = [n for n in draft.walk(statement) if isinstance(n, ast.Name) and n.id in arguments]
    for node in sorted(uses, key=draft.start, reverse=True):
        at = draft.start(node) - draft.start(statement)
        text = text[:at] + f"self.{node.id}" + text[at + len(node.id) :]
        if f"self.{node.id} = {node.id}" not in draft.text and node.id not in kept:
            kept.append(node.id)
    for name in kept:
        draft.insert_before(statement, f"self.{name} = {name}")
    return text


def _move_down(draft: Draft, block: list[ast.stmt], statement: ast.stmt, other: ast.stmt) -> None:
    between = block[block.index(statement) + 1 : block.index(other) + 1]
    name = names_bound(statement)
    if any(name & names_read(skipped) for skipped in between):
        raise CannotWrite("the optimizer is used before")
    start, end = draft.whole_lines(statement)
    _, place = draft.whole_lines(other)
    if not draft.text[:place].endswith(("\n", "\r")):
        raise CannotWrite("the file does not end with a line")
    draft.replace(start, end, "")
    draft.replace(place, place, draft.text[start:end])


def build_once(task: Task) -> None:
    """What builds an optimizer in each pass of a loop goes before the loop."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    loops = list(draft.enclosing(statement, ast.For, ast.While))
    if not task.diagnosis.facts.get("anew") or pair is None or not loops:
        raise CannotWrite("the line builds no optimizer in a loop")
    loop = loops[-1]
    assert isinstance(loop, (ast.For, ast.While))
    if draft.scope_of(statement) is not draft.scope_of(loop) or statement not in loop.body:
        raise CannotWrite("the line stands deeper than in the loop")
    if names_read(pair[1]) & (names_bound(loop) - names_bound(statement)):
        raise CannotWrite("the line reads what the loop sets")
    text = draft.reindented([statement], draft.indentation(statement), draft.indentation(loop))
    start, _ = draft.whole_lines(loop)
    draft.remove(statement)
    draft.replace(start, start, text)


def give_beside(task: Task) -> None:
    """`Adam(model.parameters())` becomes `Adam([*model.parameters(), *loss.parameters()])`."""
    draft, name = task.draft, str(task.diagnosis.facts.get("aside", ""))
    pair = assigned(task.statement)
    value = None if pair is None else pair[1]
    if not name or not isinstance(value, ast.Call) or not value.args:
        raise CannotWrite("it is not known how the line calls the module")
    must_be_known(draft, task.statement, name)
    owner = name if "more" not in task.diagnosis.facts else _set_as(draft, name)
    made = [n for n in ast.walk(draft.tree) if isinstance(n, ast.stmt) and _sets(n, owner)]
    if len(made) != 1 or _is_later(draft, made[0], task.statement):
        raise CannotWrite("the module is made later")
    given = value.args[0]
    more = str(task.diagnosis.facts.get("more", f"*{name}.parameters()"))
    if isinstance(given, ast.List) and given.elts:
        in_group = isinstance(given.elts[-1], ast.Dict)
        draft.suffix(given.elts[-1], f', {{"params": [{more}]}}' if in_group else f", {more}")
    elif isinstance(given, (ast.Call, ast.Name, ast.Attribute)):
        draft.rewrite(given, f"[*{draft.written(given)}, {more}]")
    elif isinstance(given, ast.BinOp) and isinstance(given.op, ast.Add):
        end = draft.end(given)
        draft.replace(end, end, f" + [{more}]")
    else:
        raise CannotWrite("the optimizer is given something else")


def _set_as(draft: Draft, name: str) -> str:
    """The longest part of `loss.weights.alpha` that the file assigns to."""
    while "." in name and not any(
        isinstance(n, ast.stmt) and _sets(n, name) for n in ast.walk(draft.tree)
    ):
        name = name.rpartition(".")[0]
    return name


def _is_later(draft: Draft, made: ast.stmt, statement: ast.stmt) -> bool:
    same = draft.scope_of(made) is draft.scope_of(statement)
    return same and made.lineno > statement.lineno


def _sets(statement: ast.stmt, name: str) -> bool:
    pair = assigned(statement)
    return pair is not None and dotted(pair[0]) == name


def make_in_init(task: Task) -> None:
    """`nn.Linear(8, 8)(h)` in `forward` becomes `self.linear(h)`, made in `__init__`."""
    draft, statement = task.draft, task.statement
    forward = draft.scope_of(statement)
    owner = draft.parents.get(forward)
    if not task.diagnosis.facts.get("in_forward") or not isinstance(owner, ast.ClassDef):
        raise CannotWrite("the line is in no method")
    inits = [n for n in owner.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    modules = {task.modules(), f"{task.torch()}.nn"}
    made = [
        node
        for node in draft.walk(statement)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and dotted(node.func.value) in modules
        and node.func.attr[:1].isupper()
    ]
    if len(made) != 1 or len(inits) != 1:
        raise CannotWrite("not exactly one layer is made in the line")
    call = made[0]
    free = names_read(call) - {dotted(call.func).split(".")[0], "self"}
    if free & names_of_scope(forward):
        raise CannotWrite("the layer is made of what forward is given")
    name = f"self.{called(call).lower()}"
    if any(dotted(node) == name for node in ast.walk(owner)):
        name += "_layer"
    draft.insert_after(inits[0].body[-1], f"{name} = {draft.written(call)}")
    draft.rewrite(call, name)


def register_modules(task: Task) -> None:
    """A plain list or dict of modules becomes one that the module knows."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None:
        pair = _first_list(draft, statement)
    target, value = pair
    if not isinstance(target, ast.Attribute):
        raise CannotWrite("the list is not an attribute of the module")
    text = draft.written(value)
    kind = "Parameter" if "Parameter(" in text or "requires_grad" in text else "Module"
    if isinstance(value, (ast.List, ast.ListComp)):
        wrapper = f"{task.modules()}.{kind}List"
    elif isinstance(value, (ast.Dict, ast.DictComp)):
        wrapper = f"{task.modules()}.{kind}Dict"
    else:
        raise CannotWrite("the line makes no list and no dict")
    if text == "[]":
        draft.rewrite(value, f"{wrapper}()")
    else:
        draft.rewrite(value, f"{wrapper}({text})")


def _first_list(draft: Draft, statement: ast.stmt) -> tuple[ast.expr, ast.expr]:
    """`self.layers.append(...)`: the assignment that makes the list."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        function = statement.value.func
        if isinstance(function, ast.Attribute) and function.attr in ("append", "extend"):
            for node in ast.walk(draft.scope_of(statement)):
                pair = assigned(node) if isinstance(node, ast.stmt) else None
                if pair is not None and dotted(pair[0]) == dotted(function.value):
                    return pair
    raise CannotWrite("the line makes no list and no dict")


# ------------------------------------------------------------- the same optimizer, other parameters


def hold_the_original(task: Task) -> None:
    """The optimizer was given a copy of the model: give it the model's own parameters."""
    draft, built = task.draft, task.same_file(task.diagnosis.error_line) or task.fix.place
    sources = [
        node.func.value
        for node in draft.walk(draft.statement_at(built.line))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("parameters", "named_parameters")
    ]
    copies = [(node, original) for node in sources if (original := _original(draft, node))]
    if not copies:
        raise CannotWrite("the optimizer was given no copy")
    for node, original in copies:
        draft.rewrite(node, original)


def hold_the_copy(task: Task) -> None:
    """What is trained is a copy that was made later: build the optimizer of it, and after it."""
    draft, built = task.draft, task.same_file(task.diagnosis.error_line) or task.fix.place
    statement = draft.statement_at(built.line)
    given = [
        node.func.value
        for node in draft.walk(statement)
        if isinstance(node, ast.Call) and called(node) == "parameters"
        if isinstance(node.func, ast.Attribute)
    ]
    block = draft.block_of(statement)
    if len(given) != 1 or assigned(statement) is None:
        raise CannotWrite("the line builds no optimizer of one model")
    for other in block[block.index(statement) + 1 :]:
        pair = assigned(other)
        if pair is None or not dotted(pair[0]) or not isinstance(pair[1], ast.Call):
            continue
        if called(pair[1]) == "deepcopy" and _original(draft, pair[1]) == dotted(given[0]):
            between = block[block.index(statement) + 1 : block.index(other) + 1]
            if any(names_bound(statement) & names_read(skipped) for skipped in between):
                raise CannotWrite("the optimizer is used before")
            text = draft.written(statement)
            at = draft.start(given[0]) - draft.start(statement)
            text = text[:at] + dotted(pair[0]) + text[at + len(draft.written(given[0])) :]
            draft.remove(statement)
            draft.insert_after(other, text)
            return
    raise CannotWrite("no copy of the model is made later")


def _builder(task: Task) -> ast.Assign:
    """The statement that builds the optimizer, with a name for it."""
    built = task.same_file(task.diagnosis.error_line) or task.fix.place
    statement = task.draft.statement_at(built.line)
    pair = assigned(statement)
    if pair is None or not isinstance(pair[1], ast.Call) or not dotted(pair[0]):
        raise CannotWrite("the line does not build the optimizer")
    return ast.Assign([pair[0]], pair[1])


def _original(draft: Draft, node: ast.expr) -> str:
    """What an expression is a copy of: `model` of `copy.deepcopy(model)`, or of a name for it."""
    if isinstance(node, ast.Call):
        plain = len(node.args) == 1 and not node.keywords and dotted(node.args[0])
        return dotted(node.args[0]) if plain and called(node) in ("deepcopy", "copy") else ""
    name = dotted(node)
    made = [
        pair[1]
        for statement in ast.walk(draft.tree)
        if isinstance(statement, ast.stmt)
        and (pair := assigned(statement)) is not None
        and dotted(pair[0]) == name
    ]
    return _original(draft, made[0]) if len(made) == 1 and isinstance(made[0], ast.Call) else ""


def add_group(task: Task) -> None:
    """What the model got, or unfroze, later goes into a group of its own."""
    draft, optimizer = task.draft, dotted(_builder(task).targets[0])
    places = [task.fix.place, *task.diagnosis.created_at]
    for place in places:
        if task.same_file(place) is None or place == task.diagnosis.error_line:
            continue
        try:
            statement = draft.statement_at(place.line)
        except CannotWrite:
            continue
        found = _made_there(draft, statement)
        if found is not None:
            after, parameters = found
            must_be_known(draft, after, optimizer)
            draft.insert_after(after, f'{optimizer}.add_param_group({{"params": {parameters}}})')
            return
    raise CannotWrite("the line that makes the parameters does not name them")


def _made_there(draft: Draft, statement: ast.stmt) -> tuple[ast.stmt, str] | None:
    """After which statement there are new parameters to train, and the text that gives them."""
    pair = assigned(statement)
    if pair is not None and dotted(pair[0]).endswith(".requires_grad"):
        loop = next(draft.enclosing(statement, ast.For), None)
        if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call):
            if called(loop.iter) == "parameters":
                return loop, draft.written(loop.iter)
        return None
    freed = call_statement(statement, "requires_grad_")
    if freed is not None:
        owner = receiver(freed)
        loop = next(draft.enclosing(statement, ast.For), None)
        if isinstance(loop, ast.For) and dotted(owner) == dotted(loop.target):
            return (loop, draft.written(loop.iter)) if _gives_parameters(loop.iter) else None
        return (statement, f"{dotted(owner)}.parameters()") if dotted(owner) else None
    if pair is not None and isinstance(pair[0], ast.Attribute) and isinstance(pair[1], ast.Call):
        name = dotted(pair[0])
        if called(pair[1]) == "Parameter":
            return statement, f"[{name}]"
        return (statement, f"{name}.parameters()") if name else None
    return None


def _gives_parameters(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and called(node) == "parameters"


def sort_the_rest(task: Task) -> None:
    """What falls through a chain of conditions goes into the group that changes least."""
    draft, statement = task.draft, task.statement
    if not isinstance(statement, ast.If) or statement.orelse:
        raise CannotWrite("the line is not the last of a chain of conditions")
    first = statement
    while isinstance(parent := draft.parents[first], ast.If) and first in parent.orelse:
        first = parent
    adds: list[ast.Call] = []
    for node in ast.walk(first):
        if isinstance(node, ast.stmt):
            call = call_statement(node, "append")
            if call is not None and len(call.args) == 1 and dotted(receiver(call)):
                adds.append(call)
    wanted = [call for call in adds if dotted(receiver(call)) in _without_decay(draft)]
    if not adds or len({ast.unparse(call.args[0]) for call in adds}) != 1:
        raise CannotWrite("the branches do not sort parameters into lists")
    chosen = (wanted or adds)[-1]
    outer = draft.indentation(first)
    unit = draft.indentation(statement.body[-1]).removeprefix(outer)
    draft.insert_after(first, "else:", unit + draft.written(chosen))


def _without_decay(draft: Draft) -> set[str]:
    """The lists that are given to groups with `"weight_decay": 0`."""
    found = set()
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Dict):
            given = {
                key.value: value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant)
            }
            decay = given.get("weight_decay")
            if isinstance(decay, ast.Constant) and not decay.value and "params" in given:
                found.add(dotted(given["params"]))
    return found
