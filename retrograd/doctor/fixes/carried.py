"""Edits for values that are carried or collected with their history."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    Function,
    assigned,
    call_statement,
    called,
    dotted,
    first_line,
    names_of_scope,
    receiver,
)

ADDING = ("append", "appendleft", "add", "put", "insert", "push")
"""Methods whose last argument is kept by a collection."""


def detach(task: Task) -> None:
    """Cut the value's history where it is handed on, kept, or read."""
    draft, statement = task.draft, task.statement
    dropped = call_statement(statement, "detach")
    if dropped is not None and dotted(receiver(dropped)):
        draft.replace(
            draft.start(statement), draft.start(statement), dotted(receiver(dropped)) + " = "
        )
        return
    if call_statement(statement, "step") is not None:
        draft.insert_after(statement, _cut_in_place(task))
        return
    stored = _stored(task, statement)
    if stored is not None:
        _cut(task, stored)
        return
    reads = _reads(task, statement)
    if reads:
        _cut_reads(task, statement, reads)
        return
    target = assigned(statement)
    if target is not None and isinstance(target[0], (ast.Name, ast.Attribute)):
        _cut(task, target[1])
        return
    if target is not None and isinstance(target[0], (ast.Tuple, ast.List)):
        for element in target[0].elts:
            if task.stands_for_value(element):
                draft.insert_after(statement, _cut_in_place(task))
                return
    if isinstance(statement, ast.Return) and statement.value is not None:
        _cut_returned(task, statement.value)
        return
    raise CannotWrite("the line does not name the value")


def detach_assigned(task: Task) -> None:
    """Cut what the line assigns, not what it reads: a running value that is only looked at."""
    target = assigned(task.statement)
    if target is None or not task.stands_for_value(target[0]) or task.items:
        raise CannotWrite("the line does not assign the value")
    _cut(task, target[1])


def _stored(task: Task, statement: ast.stmt) -> ast.expr | None:
    """What the statement puts into a collection, or adds to a total."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if called(call) in ADDING and isinstance(call.func, ast.Attribute) and call.args:
            return call.args[-1]
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        return statement.value
    target = assigned(statement)
    if target is not None and isinstance(target[0], ast.Subscript):
        if not _reads(task, statement):
            return target[1]
    return None


def _cut(task: Task, value: ast.expr) -> None:
    """Detach an expression, or of a tuple display the part that is the value."""
    draft = task.draft
    if isinstance(value, (ast.Tuple, ast.List)):
        own = [part for part in value.elts if task.stands_for_value(part)]
        if not own and task.items and task.items[-1].isdigit():
            own = value.elts[int(task.items[-1]) :][:1]
        if len(own) != 1:
            raise CannotWrite("it is not known which part of the tuple is meant")
        draft.suffix(own[0], ".detach()")
    elif task.is_deep or isinstance(
        value, (ast.Dict, ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.Constant)
    ):
        raise CannotWrite("what is kept is not a tensor")
    else:
        draft.suffix(value, ".detach()")


def _cut_returned(task: Task, value: ast.expr) -> None:
    """`return h.detach(), c`: those that are returned with their history."""
    if isinstance(value, ast.Tuple):
        if any(isinstance(part, ast.Call) and called(part) == "detach" for part in value.elts):
            for part in value.elts:
                if dotted(part):
                    task.draft.suffix(part, ".detach()")
            return
    _cut(task, value)


def _reads(task: Task, statement: ast.stmt) -> list[ast.expr]:
    """The places of a statement that read the value, tests for None and the like apart."""
    draft, found = task.draft, list[ast.expr]()
    for node in draft.walk(statement):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not task.stands_for_value(node):
            continue
        parent = draft.parents[node]
        if not isinstance(node.ctx, ast.Load) or isinstance(parent, ast.Compare):
            continue
        if isinstance(parent, ast.Subscript) and not isinstance(parent.ctx, ast.Load):
            continue
        if isinstance(parent, (ast.If, ast.IfExp, ast.While)) and parent.test is node:
            continue
        if isinstance(parent, ast.Attribute) and not _is_differentiable(parent.attr):
            continue
        if isinstance(parent, ast.Call) and called(parent) in ("len", "isinstance", "id", "type"):
            continue
        found.append(node)
    return found


def _is_differentiable(attribute: str) -> bool:
    plain = ("shape", "dtype", "device", "size", "dim", "ndim", "detach", "item", "grad", "data")
    return attribute not in (*plain, "tolist", "requires_grad", "backward", *ADDING, "clear")


def _cut_reads(task: Task, statement: ast.stmt, reads: list[ast.expr]) -> None:
    draft = task.draft
    if _may_be_none(draft, reads[0]) and not _is_guarded(draft, reads[0]):
        name = dotted(reads[0])
        if hasattr(statement, "body"):
            raise CannotWrite("the line is the head of a block")
        inner = draft.indentation(statement) + draft.unit(statement)
        cut = f"{name} = {_form(task, name)}"
        unit = inner[len(draft.indentation(statement)) :]
        draft.insert_before(statement, f"if {name} is not None:", unit + cut)
        return
    for node in reads:
        parent = draft.parents[node]
        if task.items and isinstance(parent, ast.Subscript) and parent.value is node:
            draft.suffix(parent, ".detach()")
        elif task.items and not task.is_deep and isinstance(parent, ast.Starred):
            name = draft.written(node)
            draft.rewrite(node, f"(part.detach() for part in {name})")
        elif task.items and not task.is_deep and _is_call_of(parent, "list"):
            assert isinstance(parent, ast.Call)
            draft.rewrite(parent, f"[part.detach() for part in {draft.written(node)}]")
        else:
            draft.rewrite(node, _form(task, draft.written(node)))


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and called(node) == name


def _form(task: Task, name: str) -> str:
    """The detached form of a variable: of a tensor, or of a tuple or list of tensors."""
    if not task.items:
        return f"{name}.detach()"
    if task.is_deep or task.container not in ("tuple", "list"):
        raise CannotWrite("the value lies inside a structure")
    if task.container == "tuple":
        return f"tuple(part.detach() for part in {name})"
    return f"[part.detach() for part in {name}]"


def _cut_in_place(task: Task) -> str:
    """A line of its own that cuts the value."""
    name = task.variable
    _must_be_known(task.draft, task.statement, name)
    return f"{name} = {_form(task, name)}"


def _must_be_known(draft: Draft, statement: ast.stmt, name: str) -> None:
    """Refuse a line about a variable that is not one of the place where the line goes."""
    base, scope = name.split(".")[0], draft.scope_of(statement)
    if not name or not all(part.isidentifier() for part in name.split(".")):
        raise CannotWrite("the value has no name here")
    if base in names_of_scope(scope):
        return
    if scope is draft.tree or "." not in name or base not in names_of_scope(draft.tree):
        raise CannotWrite(f"{base} is not a variable of this function")


def _may_be_none(draft: Draft, node: ast.expr) -> bool:
    """Whether the program sets the variable to None somewhere."""
    name = dotted(node)
    own = name.rpartition(".")[2]
    for other in ast.walk(draft.tree):
        if isinstance(other, ast.Assign) and _is_none(other.value):
            for target in other.targets:
                if dotted(target).rpartition(".")[2] == own:
                    return True
        if isinstance(other, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if other is draft.scope_of(node) and _none_by_default(other, own):
                return True
    return False


def _none_by_default(function: Function, name: str) -> bool:
    arguments = [*function.args.posonlyargs, *function.args.args]
    defaults = function.args.defaults
    given = list(zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True))
    return any(argument.arg == name and _is_none(value) for argument, value in given)


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_guarded(draft: Draft, node: ast.expr) -> bool:
    """Whether the place is reached only if the variable is not None, as an `if` around it says."""
    name = dotted(node)
    for around in draft.enclosing(node, ast.If, ast.IfExp):
        assert isinstance(around, (ast.If, ast.IfExp))
        test = around.test
        if isinstance(test, ast.Compare) and dotted(test.left) == name:
            return True
        if dotted(test) == name or (isinstance(test, ast.UnaryOp) and dotted(test.operand) == name):
            return True
    statement = next(draft.enclosing(node, ast.stmt), None)
    if isinstance(statement, ast.stmt):
        for earlier in draft.block_of(statement):
            if earlier is statement:
                break
            if isinstance(earlier, ast.If) and isinstance(earlier.test, ast.Compare):
                if dotted(earlier.test.left) == name and isinstance(earlier.test.ops[0], ast.Is):
                    return True  # `if hidden is None: hidden = ...` stands before
    return False


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
    stored = _stored(task, statement)
    if stored is None or task.is_deep:
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
    draft.suffix(added, suffix)
    for node in ast.walk(draft.scope_of(target)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if total and dotted(node.func.value) == total:
                if called(node) == "backward":  # the loss of this pass is what is meant
                    if not isinstance(added, ast.Name):
                        raise CannotWrite("the total is sent back, and what is added has no name")
                    draft.rewrite(node.func.value, added.id)
                elif called(node) == "item" and suffix == ".item()":
                    _not_in_text(draft, node)
                    draft.rewrite(node, draft.written(node.func.value))


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
    try:
        _must_be_known(draft, statement, name)
    except CannotWrite:
        statement = _step_beside_backward(task)
        _must_be_known(draft, statement, name)
    if task.items and task.container in ("list", "deque", "dict", "set"):
        _must_be_alone(draft, name)
        line = f"{name}.clear()"
    else:
        _must_not_be_read_later(draft, statement, name)
        line = f"{name} = {_first_value(task, name)}"
    if call_statement(statement, "step") is not None:
        draft.insert_after(statement, line)
    elif _leads_to_backward(task, statement):
        draft.insert_after(statement, line)
    elif any(name in ast.unparse(around) for around in _tests_around(draft, statement)):
        raise CannotWrite(f"the line is reached by a test of {name}")
    else:
        draft.insert_before(statement, line)


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


def _must_be_alone(draft: Draft, name: str) -> None:
    """Refuse to clear one of several collections that are filled and read side by side."""
    owner, _, own = name.rpartition(".")
    filled = _filled(draft)
    for function in ast.walk(draft.tree):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)):
            continue
        read = _read_by(draft, function)
        if own in read and any(other != own and other in filled for other in read):
            if owner or any(own in pair and len(pair & filled) > 1 for pair in _zipped(function)):
                raise CannotWrite("another collection is filled beside it")


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


def _first_value(task: Task, name: str) -> str:
    """The text of the value that the variable gets before the loop."""
    draft, statement = task.draft, task.statement
    scope = draft.scope_of(statement)
    loops = list(draft.enclosing(statement, ast.For, ast.AsyncFor, ast.While))
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
    if len(found) != 1 or "\n" in draft.written(found[0]):
        raise CannotWrite("the first value is not plain to see")
    own = name.split(".")[0]
    if any(isinstance(n, ast.Name) and n.id == own for n in ast.walk(found[0])) and own != "self":
        raise CannotWrite("the first value depends on the variable itself")
    return draft.written(found[0])


# ----------------------------------------------------------------------------------- no_grad


def no_grad(task: Task) -> None:
    """Compute under no_grad: the statement, or the function whose `def` line is named."""
    statement = task.statement
    context = f"{task.torch()}.no_grad()"
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        start = statement.lineno - 1
        draft = task.draft
        draft.whole_lines(statement)
        space = draft.lines[start][: len(draft.lines[start]) - len(draft.lines[start].lstrip())]
        at = draft.starts[start]
        draft.replace(at, at, f"{space}@{context}{draft.newline(statement)}")
        return
    if isinstance(statement, (ast.Return, ast.ClassDef)):
        raise CannotWrite("the statement cannot stand in a block of its own")
    task.draft.wrap(statement, f"with {context}:")
