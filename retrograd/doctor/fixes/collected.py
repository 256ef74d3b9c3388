"""Edits for totals and collections: numbers for a log, and starting anew after a step."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.carried import ADDING, is_deep_in, must_be_known, stored_value
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    assigned,
    call_statement,
    called,
    dotted,
    first_line,
    names_bound,
    names_of_scope,
    names_read,
    receiver,
)

# ------------------------------------------------------------------------- numbers for a log


def item_for_logging(task: Task) -> None:
    """Keep the number of a loss, not the tensor."""
    draft, statement = task.draft, task.statement
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        _number(task, statement.target, statement.value)
        return
    target = assigned(statement)
    if target is not None and isinstance(target[1], ast.BinOp):
        total, value = dotted(target[0]), target[1]
        if isinstance(value.op, ast.Add) and total:
            for own, added in ((value.left, value.right), (value.right, value.left)):
                if dotted(own) == total:
                    _number(task, target[0], added)
                    return
    if target is not None and isinstance(target[0], ast.Subscript):
        _plain_tensor(target[1])
        draft.suffix(target[1], _as_number(draft, dotted(target[0].value)))
        return
    stored = stored_value(task, statement)
    if stored is None or is_deep_in(task, statement):
        raise CannotWrite("the line keeps no tensor by itself")
    _plain_tensor(stored)
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    draft.suffix(stored, _as_number(draft, dotted(receiver(statement.value))))


def _plain_tensor(value: ast.expr) -> None:
    if isinstance(value, (ast.Tuple, ast.List, ast.Dict, ast.Constant, ast.ListComp)):
        raise CannotWrite("what is kept is not one tensor")
    if isinstance(value, ast.Call) and called(value) in ("item", "detach", "float"):
        raise CannotWrite("it is a number already")


def _number(task: Task, target: ast.expr, added: ast.expr) -> None:
    draft, total = task.draft, dotted(target)
    _plain_tensor(added)
    suffix = _as_number(draft, total)
    own = added.id if isinstance(added, ast.Name) else ""
    if own or not _is_sent_back(draft, target):
        draft.suffix(added, suffix)
    else:
        known = names_bound(draft.scope_of(target)) | names_bound(draft.tree)
        own = next((name for name in ("loss", "batch_loss", "own_loss") if name not in known), "")
        if not own:
            raise CannotWrite("there is no free name for what is added")
        draft.insert_before(task.statement, f"{own} = {draft.written(added)}")
        draft.rewrite(added, own + suffix)
    for node in ast.walk(draft.scope_of(target)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if total and dotted(node.func.value) == total:
                if called(node) == "backward":  # the loss of this pass is what is meant
                    draft.rewrite(node.func.value, own)
                elif called(node) == "item" and suffix == ".item()":
                    _not_in_text(draft, node)
                    draft.rewrite(node, draft.written(node.func.value))


def _is_sent_back(draft: Draft, total: ast.expr) -> bool:
    """Whether `backward` is called on a total itself."""
    return any(
        isinstance(node, ast.Call)
        and called(node) == "backward"
        and isinstance(node.func, ast.Attribute)
        and dotted(total) != ""
        and dotted(node.func.value) == dotted(total)
        for node in ast.walk(draft.scope_of(total))
    )


def _not_in_text(draft: Draft, node: ast.expr) -> None:
    if any(draft.enclosing(node, ast.JoinedStr)):
        raise CannotWrite("the total is read inside an f-string")


def _as_number(draft: Draft, total: str) -> str:
    """`.item()`, or `.detach()` where the program goes on using tensors."""
    own = total.rpartition(".")[2]
    for node in ast.walk(draft.tree):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not isinstance(node.ctx, ast.Load):
            continue
        if (node.attr if isinstance(node, ast.Attribute) else node.id) != own:
            continue
        parent = draft.parents[node]
        if isinstance(parent, ast.Attribute) and parent.attr not in ("backward", *ADDING, "clear"):
            if parent.attr != "item" or any(draft.enclosing(node, ast.JoinedStr)):
                return ".detach()"
        if isinstance(parent, ast.Call) and node in parent.args:
            if called(parent) not in ("print", "float", "sum", "len", "min", "max", "round"):
                return ".detach()"
        if isinstance(parent, (ast.Subscript, ast.comprehension, ast.For, ast.Return)):
            return ".detach()"
    return ".item()"


# -------------------------------------------------------------------------------- start anew


def reset_state(task: Task) -> None:
    """Give the variable its first value again: after the step, or before the line that reads it."""
    draft, statement, name = task.draft, task.statement, task.variable
    if _keeps_the_first(draft, statement):
        return
    try:
        must_be_known(draft, statement, name)
    except CannotWrite:
        statement = _step_beside_backward(task)
        must_be_known(draft, statement, name)
    own = name.rpartition(".")[2]
    collected = task.container in ("list", "deque", "dict", "set") and not _is_rebuilt(draft, own)
    if task.is_deep and collected:
        lines = _clear_items(task, name)
    elif task.items and collected:
        lines = [f"{each}.clear()" for each in [name, *_filled_beside(draft, name)]]
    else:
        _must_not_be_read_later(draft, statement, name)
        lines = [f"{name} = {_first_value(task, name)}"]
    if call_statement(statement, "step") is not None:
        draft.insert_after(statement, *lines)
    elif _leads_to_backward(task, statement):
        draft.insert_after(statement, *lines)
    elif any(name in ast.unparse(around) for around in _tests_around(draft, statement)):
        raise CannotWrite(f"the line is reached by a test of {name}")
    else:
        draft.insert_before(statement, *lines)


def _keeps_the_first(draft: Draft, statement: ast.stmt) -> bool:
    """`results.setdefault(key, value)` becomes `results[key] = value`: the newest one counts."""
    call = call_statement(statement, "setdefault")
    if call is None or len(call.args) != 2 or call.keywords:
        return False
    key, value = map(draft.written, call.args)
    draft.rewrite(statement, f"{draft.written(receiver(call))}[{key}] = {value}")
    return True


def _is_rebuilt(draft: Draft, own: str) -> bool:
    """Whether the collection is made anew each time, not filled: `self.fast = {... for ...}`."""
    made = 0
    for node in ast.walk(draft.tree):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None:
            target = pair[0].value if isinstance(pair[0], ast.Subscript) else pair[0]
            if dotted(target).rpartition(".")[2] == own:
                if target is not pair[0]:
                    return False
                made += isinstance(pair[1], (ast.DictComp, ast.ListComp, ast.SetComp))
    return made > 0 and own not in _filled(draft)


def _tests_around(draft: Draft, statement: ast.stmt) -> list[ast.expr]:
    return [node.test for node in draft.enclosing(statement, ast.If) if isinstance(node, ast.If)]


def _step_beside_backward(task: Task) -> ast.stmt:
    """The step that follows the backward which failed, in the function of that backward."""
    draft, failed = task.draft, task.same_file(task.diagnosis.error_line)
    if failed is None:
        raise CannotWrite("the value is not known where the step is")
    backward = draft.statement_at(failed.line)
    block = draft.block_of(backward)
    for statement in block[block.index(backward) :]:
        if call_statement(statement, "step") is not None:
            return statement
    raise CannotWrite("the value is not known where the step is")


def _leads_to_backward(task: Task, statement: ast.stmt) -> bool:
    """Whether the line calls what sends the loss back: the value is needed until it returns."""
    lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
    return any(
        place.line in lines and task.same_file(place) is not None
        for span in task.diagnosis.spans
        if span.label in ("freed", "used again", "needed")
        for place in span.stack[:-1]
    )


def _filled_beside(draft: Draft, name: str) -> list[str]:
    """The collections that are filled and read side by side with one: they are cleared with it.

    Log-probabilities and rewards of an episode belong together: without one the other is wrong.
    """
    owner, _, own = name.rpartition(".")
    filled, found = _filled(draft), set[str]()
    for function in ast.walk(draft.tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            continue
        read = _read_by(draft, function)
        others = {other for other in read if other != own and other in filled}
        if not isinstance(function, ast.Module):
            others -= _begun_in(function)  # filled anew in each call
        if own in read and owner:
            found |= others
        elif own in read:
            found |= {other for pair in _zipped(function) if own in pair for other in pair & filled}
    if not owner:
        return sorted(found - {own})
    attributes = {node.attr for node in ast.walk(draft.tree) if isinstance(node, ast.Attribute)}
    if found - attributes:
        raise CannotWrite("another collection is filled beside it")
    return [f"{owner}.{other}" for other in sorted(found)]


def _begun_in(function: ast.AST) -> set[str]:
    """The variables that a function itself begins: `returns = []`."""
    return {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for each in node.targets
        for target in (each.elts if isinstance(each, ast.Tuple) else [each])
        if isinstance(target, ast.Name)
    }


def _clear_items(task: Task, name: str) -> list[str]:
    """The lists of a dict, each emptied: `memory["losses"].clear()`."""
    if len(task.items) != 2 or task.container not in ("list", "deque"):
        raise CannotWrite("the value lies deep inside a structure")
    draft, found, own = task.draft, dict[str, str](), ""
    for node in ast.walk(draft.tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        filled = node.func.value
        if node.func.attr not in ADDING or not isinstance(filled, ast.Subscript):
            continue
        if dotted(filled.value) != name or not isinstance(filled.slice, ast.Constant):
            continue
        found[repr(filled.slice.value)] = draft.written(filled)
        own = own or ("found" if repr(filled.slice.value) == task.items[0] else "")
    if not own:
        raise CannotWrite("what fills the list is not plain to see")
    return [f"{each}.clear()" for each in found.values()]


def _filled(draft: Draft) -> set[str]:
    """The last names of collections that are appended to and never emptied."""
    found, emptied = set(), set()
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name = dotted(node.func.value).rpartition(".")[2]
            if node.func.attr in ADDING:
                found.add(name)
            elif node.func.attr == "clear":
                emptied.add(name)
    return found - emptied - {""}


def _read_by(draft: Draft, function: ast.AST) -> set[str]:
    """The last names of what a function itself reads, apart from appending to it."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            parent = draft.parents.get(node)
            if isinstance(parent, ast.Attribute) and parent.attr in ADDING:
                continue
            if draft.scope_of(node) is function:
                found.add(dotted(node).rpartition(".")[2])
    return found


def _zipped(function: ast.AST) -> list[set[str]]:
    return [
        {dotted(argument).rpartition(".")[2] for argument in node.args}
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and called(node) == "zip"
    ]


def _must_not_be_read_later(draft: Draft, statement: ast.stmt, name: str) -> None:
    """Refuse to start a total anew that is reported after the loop."""
    loop = next(draft.enclosing(statement, ast.For, ast.AsyncFor, ast.While), None)
    for node in ast.walk(draft.scope_of(statement)):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            if isinstance(loop, ast.stmt) and node.lineno > (loop.end_lineno or 0):
                if dotted(node) == name:
                    raise CannotWrite(f"{name} is read after the loop")


def _value_at_birth(draft: Draft, method: ast.AST, name: str) -> str:
    """What `__init__` gives to an attribute, if the text means the same in another method."""
    owner = draft.parents.get(method)
    for maker in owner.body if isinstance(owner, ast.ClassDef) else []:
        if not isinstance(maker, ast.FunctionDef) or maker.name != "__init__":
            continue
        found = [
            pair[1]
            for node in ast.walk(maker)
            if isinstance(node, ast.stmt)
            and (pair := assigned(node)) is not None
            and dotted(pair[0]) == name
        ]
        if len(found) != 1 or "\n" in draft.written(found[0]):
            break
        if names_read(found[0]) & (names_of_scope(maker) - {"self"}):
            break
        return draft.written(found[0])
    raise CannotWrite("the first value is not plain to see")


def _first_value(task: Task, name: str) -> str:
    """The text of the value that the variable gets before the loop."""
    draft, statement = task.draft, task.statement
    scope = draft.scope_of(statement)
    loops = list(draft.enclosing(statement, ast.For, ast.AsyncFor, ast.While))
    if not loops and name.startswith("self."):
        return _value_at_birth(draft, scope, name)
    if not loops:
        raise CannotWrite("no loop is around the line")
    found = []
    for node in ast.walk(scope):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is None or dotted(pair[0]) != name or not isinstance(node, ast.stmt):
            continue
        inside = [loop for loop in draft.enclosing(node, ast.For, ast.AsyncFor, ast.While)]
        if loops[0] not in inside and first_line(node) < statement.lineno:
            found.append(pair[1])
    if not found and name.startswith("self."):
        return _value_at_birth(draft, scope, name)
    if len(found) != 1 or "\n" in draft.written(found[0]):
        raise CannotWrite("the first value is not plain to see")
    own = name.split(".")[0]
    if any(isinstance(n, ast.Name) and n.id == own for n in ast.walk(found[0])) and own != "self":
        raise CannotWrite("the first value depends on the variable itself")
    return draft.written(found[0])
