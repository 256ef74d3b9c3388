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
    header_end,
    names_bound,
    names_of_scope,
    names_read,
    receiver,
)
from retrograd.doctor.fixes.unnoticed import cut_difference

ADDING = ("append", "appendleft", "add", "put", "insert", "push")
"""Methods whose last argument is kept by a collection."""


def detach(task: Task) -> None:
    """Cut the value's history where it is handed on, kept, or read."""
    draft, statement = task.draft, task.statement
    if task.diagnosis.cause == "broken-graph":
        cut_difference(task)
        return
    dropped = call_statement(statement, "detach")
    if dropped is not None and dotted(receiver(dropped)):
        draft.replace(
            draft.start(statement), draft.start(statement), dotted(receiver(dropped)) + " = "
        )
        return
    if call_statement(statement, "step") or call_statement(statement, "backward"):
        draft.insert_after(statement, _cut_in_place(task))
        return
    stored = stored_value(task, statement)
    if stored is not None:
        if is_deep_in(task, statement) and not isinstance(stored, (ast.Tuple, ast.List)):
            raise CannotWrite("what is kept is not a tensor")
        _cut(task, stored)
        return
    if task.diagnosis.cause == "accumulated-history" and not task.diagnosis.error:
        pair = assigned(statement)
        kept = None if pair is None else pair[0]
        kept = kept.value if isinstance(kept, ast.Subscript) else kept
        if pair is not None and kept is not None and task.stands_for_value(kept):
            _cut(task, pair[1])  # a running value that nobody sends back
            return
    pair = assigned(statement)
    if task.diagnosis.facts.get("ends_pass") and pair and task.stands_for_value(pair[0]):
        _cut(task, pair[1])
        return
    reads = _reads(task, statement)
    if reads:
        _cut_reads(task, statement, reads)
        return
    if isinstance(statement, (ast.For, ast.While)):
        _cut_before_loop(task, statement)
        return
    target = assigned(statement)
    if target is not None and isinstance(target[0], (ast.Name, ast.Attribute)):
        made = task.fix.place in task.diagnosis.created_at
        if made or not task.variable or task.stands_for_value(target[0]):
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


def detach_fields(task: Task) -> None:
    """Cut the fields of a record before the line that hands it on: `state.h = state.h.detach()`."""
    draft, statement = task.draft, task.statement
    owner, dot, field = task.variable.rpartition(".")
    fields = task.fields or [field]
    if not dot or task.items or field not in fields:
        raise CannotWrite("it is not a field of a record")
    must_be_known(draft, statement, owner)
    reads = [node for node in draft.walk(statement) if dotted(node) == owner]
    if hasattr(statement, "body") or not reads:
        raise CannotWrite("the line does not read the record")
    parts = [f"{each}={owner}.{each}.detach()" for each in fields]
    if not _has_frozen_records(draft):
        lines = [f"{owner}.{each} = {owner}.{each}.detach()" for each in fields]
        draft.insert_before(statement, *lines)
        return
    imported = [
        node
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
    ]
    if len(imported) != 1:
        raise CannotWrite("the record is frozen")
    names = [alias.asname or alias.name for alias in imported[0].names]
    if "replace" not in names:
        if "replace" in names_of_scope(draft.tree):
            raise CannotWrite("the name of dataclasses.replace is taken")
        last = imported[0].names[-1]
        at = draft.offset(last.end_lineno or last.lineno, last.end_col_offset or 0)
        draft.replace(at, at, ", replace")
    draft.insert_before(statement, f"{owner} = replace({owner}, {', '.join(parts)})")


def detach_slot(task: Task) -> None:
    """`h, c = cell(x, states[i])`, `states[i] = (h, c)`: what the first line reads is cut there."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None:
        raise CannotWrite("the line assigns nothing")
    block, names = draft.block_of(statement), names_bound(pair[0])
    stored = {
        ast.unparse(found[0]): found[1]
        for later in block[block.index(statement) + 1 :]
        if (found := assigned(later)) is not None and names_read(found[1]) & names
    }
    reads = [
        node
        for node in draft.walk(pair[1])
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))
        and ast.unparse(node) in stored
    ]
    reads = [node for node in reads if not isinstance(node, ast.Name)] or reads
    if len(reads) != 1:
        raise CannotWrite("not exactly one slot is read here and written later")
    value, name = stored[ast.unparse(reads[0])], draft.written(reads[0])
    if isinstance(value, ast.Tuple):
        draft.rewrite(reads[0], f"tuple(part.detach() for part in {name})")
    elif isinstance(value, ast.Name):
        draft.suffix(reads[0], ".detach()")
    else:
        raise CannotWrite("what is kept is not a tensor")


def _has_frozen_records(draft: Draft) -> bool:
    """Whether the file makes records that cannot be written: `@dataclass(frozen=True)`."""
    return any(
        isinstance(node, ast.keyword)
        and node.arg == "frozen"
        and isinstance(node.value, ast.Constant)
        and node.value.value is True
        for node in ast.walk(draft.tree)
    )


def detach_assigned(task: Task) -> None:
    """Cut what the line assigns, not what it reads: a running value that is only looked at."""
    target = assigned(task.statement)
    if target is None or not task.stands_for_value(target[0]) or task.items:
        raise CannotWrite("the line does not assign the value")
    _cut(task, target[1])


def stored_value(task: Task, statement: ast.stmt) -> ast.expr | None:
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


def detach_what_is_kept(task: Task) -> None:
    """`self.rows[i] = v`, `self.state = v`: v as numbers, whatever its caller calls it."""
    value = stored_value(task, task.statement)
    pair = assigned(task.statement)
    if value is None and pair is not None and isinstance(pair[0], (ast.Attribute, ast.Subscript)):
        value = pair[1]
    if not isinstance(value, (ast.Name, ast.Subscript)):
        raise CannotWrite("the line does not keep a variable")
    task.draft.suffix(value, ".detach()")


def is_deep_in(task: Task, statement: ast.stmt) -> bool:
    """Whether the value lies deep in what a statement stores.

    `history["loss"].append(loss)` stores the tensor itself, where the value is
    `history["loss"][3]`; so does `history.setdefault("loss", []).append(loss)`.
    """
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not task.is_deep or not isinstance(call, ast.Call):
        return task.is_deep
    around = [
        node
        for node in ast.walk(receiver(call))
        if isinstance(node, ast.Subscript)
        or (isinstance(node, ast.Call) and called(node) == "setdefault")
    ]
    return len(task.items) - len(around) != 1


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
    elif isinstance(value, (ast.Dict, ast.ListComp, ast.GeneratorExp, ast.Lambda, ast.Constant)):
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
    last = header_end(statement)  # of a compound statement only what stands before its block
    for node in draft.walk(statement):
        if not isinstance(node, (ast.Name, ast.Attribute)) or not task.stands_for_value(node):
            continue
        if node.lineno > last:
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


def _cut_before_loop(task: Task, loop: ast.For | ast.While) -> None:
    """A loop goes on with the value: cut it once, before the loop."""
    draft, name = task.draft, task.variable
    read = [
        node for node in draft.walk(loop) if dotted(node) == name and isinstance(node, ast.expr)
    ]
    if not read or _may_be_none(draft, read[0]):
        raise CannotWrite("the loop does not read the value, or it may be None")
    draft.insert_before(loop, _cut_in_place(task))


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
            if len(task.items) == 2 and task.container == "tuple":
                slot = draft.written(parent)
                draft.rewrite(parent, f"tuple(part.detach() for part in {slot})")
            else:
                draft.suffix(parent, ".detach()")
        elif task.items and not task.is_deep and _is_got(draft, parent):
            draft.suffix(_call_around(draft, parent), ".detach()")
        elif task.items and not task.is_deep and isinstance(parent, ast.Starred):
            name = draft.written(node)
            draft.rewrite(node, f"(part.detach() for part in {name})")
        elif task.items and not task.is_deep and _is_call_of(parent, "list"):
            assert isinstance(parent, ast.Call)
            draft.rewrite(parent, f"[part.detach() for part in {draft.written(node)}]")
        else:
            draft.rewrite(node, _form(task, draft.written(node)))
    for other in draft.walk(statement):
        if isinstance(other, ast.Name) and isinstance(other.ctx, ast.Load):
            if other.id in task.together and other not in reads:
                draft.suffix(other, ".detach()")


def _is_got(draft: Draft, node: ast.AST) -> bool:
    """`.get` of `states.get(key, start)`."""
    around = draft.parents.get(node)
    is_get = isinstance(node, ast.Attribute) and node.attr == "get"
    return is_get and isinstance(around, ast.Call) and len(around.args) == 2


def _call_around(draft: Draft, node: ast.AST) -> ast.Call:
    call = draft.parents[node]
    assert isinstance(call, ast.Call)
    return call


def _is_call_of(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and called(node) == name


def _form(task: Task, name: str) -> str:
    """The detached form of a variable: of a tensor, or of a tuple or list of tensors."""
    if not task.items:
        return f"{name}.detach()"
    if task.is_deep:
        raise CannotWrite("the value lies inside a structure")
    if task.fields:
        parts = ", ".join(f"{each}={name}.{each}.detach()" for each in task.fields)
        return f"{name}._replace({parts})"
    if task.container not in ("tuple", "list"):
        raise CannotWrite("the value lies inside a structure")
    if task.container == "tuple":
        return f"tuple(part.detach() for part in {name})"
    return f"[part.detach() for part in {name}]"


def _cut_in_place(task: Task) -> str:
    """A line of its own that cuts the value."""
    name, others = task.variable, task.together
    must_be_known(task.draft, task.statement, name)
    if others:
        return f"{', '.join(others)} = {', '.join(f'{other}.detach()' for other in others)}"
    return f"{name} = {_form(task, name)}"


def must_be_known(draft: Draft, statement: ast.stmt, name: str) -> None:
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
