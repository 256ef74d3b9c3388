"""Edits that compute a value again in each pass instead of once."""

from __future__ import annotations

import ast

from retrograd.doctor.fixes.at_call import compute_later
from retrograd.doctor.fixes.links import remove_decorator
from retrograd.doctor.fixes.task import Task
from retrograd.doctor.fixes.text import (
    CannotWrite,
    Draft,
    Function,
    assigned,
    call_statement,
    called,
    dotted,
    names_bound,
    names_of_scope,
    names_read,
    receiver,
)

_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def recompute_forward(task: Task) -> None:
    """Move the one line that computes the value to where it is used, or take a cache away."""
    statement = task.statement
    if isinstance(statement, _FUNCTIONS):
        _without_memory(task.draft, statement)
        return
    if call_statement(statement, "backward") is not None:
        maker = _maker_of_loss(task.draft, statement)
        if maker in task.draft.block_of(statement):
            _again_before_backward(task, maker)
            return
        statement = maker  # of a closure, which only reads it
    pair = assigned(statement)
    if pair is None or not all(map(dotted, _parts(pair[0]))):
        raise CannotWrite("the value is not made by one assignment")
    target, value = pair
    if isinstance(target, ast.Attribute):
        _into_methods(task, statement, target, value)
    else:
        _into_pass(task, statement, {dotted(part) for part in _parts(target)}, value)


def _parts(target: ast.expr) -> list[ast.expr]:
    """What an assignment sets: one thing, or each part of `a, b = ...`."""
    return target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]


def recompute_with_inputs(task: Task) -> None:
    """The loss again before its second backward, with the lines that it is computed from."""
    statement = task.statement
    if call_statement(statement, "backward") is not None:
        statement = _maker_of_loss(task.draft, statement)
    _again_before_backward(task, statement, with_inputs=True)


def _maker_of_loss(draft: Draft, backward: ast.stmt) -> ast.stmt:
    """The one line of the same block, or before a closure in its block, that makes the loss."""
    call = call_statement(backward, "backward")
    assert call is not None
    name = dotted(receiver(call))
    block, last = draft.block_of(backward), backward
    made = [s for s in block[: block.index(last)] if _makes(s, name)]
    scope = draft.scope_of(backward)
    if not made and isinstance(scope, _FUNCTIONS) and name not in names_of_scope(scope):
        block, last = draft.block_of(scope), scope
        made = [s for s in block[: block.index(last)] if _makes(s, name)]
    if not name or len(made) != 1:
        raise CannotWrite("the loss is not made by one line of the block")
    return made[0]


def _makes(statement: ast.stmt, name: str) -> bool:
    pair = assigned(statement)
    if pair is None:
        return False
    return any(dotted(target) == name for target in _parts(pair[0]))


def _without_memory(draft: Draft, function: Function) -> None:
    """A function that remembers its results computes them again."""
    for node in ast.walk(draft.tree):
        if isinstance(node, ast.Attribute) and node.attr in ("cache_clear", "cache_info"):
            raise CannotWrite("the program asks the cache for more")
    for decorator in function.decorator_list:
        if draft.written(decorator).rpartition(".")[2] == "cached_property":
            draft.rewrite(decorator, "property")
            return
    remove_decorator(draft, function, lambda text: "cache" in text or "memo" in text)


def without_cache(task: Task) -> None:
    """`if self.table is None: self.table = f()`: computed each time, without the test."""
    draft, statement = task.draft, task.statement
    pair = assigned(statement)
    if pair is None:
        raise CannotWrite("the line keeps nothing")
    test = draft.parents[statement]
    if isinstance(test, ast.If) and statement in test.body and not test.orelse:
        if not _asks_for(draft, test.test, pair[0]):
            raise CannotWrite("the test before it is about something else")
        inner = draft.reindented(
            test.body, draft.indentation(test.body[0]), draft.indentation(test)
        )
        draft.replace(*draft.whole_lines(test), inner)
        return
    block = draft.block_of(statement)
    for earlier in block[: block.index(statement)]:
        if isinstance(earlier, ast.If) and not earlier.orelse and len(earlier.body) == 1:
            if isinstance(earlier.body[0], ast.Return) and _asks_for(draft, earlier.test, pair[0]):
                draft.remove(earlier)
                return
    raise CannotWrite("no test of what is kept stands before the line")


def _asks_for(draft: Draft, test: ast.expr, kept: ast.expr) -> bool:
    """Whether a test asks if something is kept already: `x is None`, `not x`, `key in x`."""
    own = draft.written(kept.value) if isinstance(kept, ast.Subscript) else draft.written(kept)
    return any(
        isinstance(node, (ast.Name, ast.Attribute)) and draft.written(node) == own
        for node in ast.walk(test)
    )


# ------------------------------------------------------------------ a variable of a function


def _into_pass(task: Task, statement: ast.stmt, names: set[str], value: ast.expr) -> None:
    draft = task.draft
    home = _pass_of(task, statement, names)
    if home is None:
        _again_before_backward(task, statement)
        return
    users = [s for s in home.body if names & names_read(s)]
    if not users:
        raise CannotWrite("the value is not read there")
    inside = names_bound(home)
    if names_read(value) & (inside - names):
        raise CannotWrite("what it is computed from is something else there")
    if names & inside and isinstance(home, _LOOPS):
        raise CannotWrite("the loop sets the variable too")
    indentation = draft.indentation(users[0])
    text = draft.reindented([statement], draft.indentation(statement), indentation)
    if not text.endswith(("\n", "\r")):
        raise CannotWrite("the file does not end with a line")
    start, end = draft.whole_lines(statement)
    place, _ = draft.whole_lines(users[0])
    if not _is_read_elsewhere(draft, statement, names, home):
        draft.replace(start, end, "")
    draft.replace(place, place, text)


def _pass_of(
    task: Task, statement: ast.stmt, names: set[str]
) -> ast.For | ast.AsyncFor | ast.While | Function | None:
    """What repeats and uses the value: the loop of the diagnosis, or a function that is called."""
    draft = task.draft
    block = draft.block_of(statement)
    later = block[block.index(statement) + 1 :]
    wanted = task.diagnosis.facts.get("loop")
    for node in (n for s in later for n in ast.walk(s)):
        if isinstance(node, _LOOPS) and node.lineno == wanted:
            if draft.scope_of(node) is draft.scope_of(statement):
                return node
    functions = [s for s in later if isinstance(s, _FUNCTIONS) and names & names_read(s)]
    error = task.same_file(task.diagnosis.error_line)
    if error is not None:
        for function in functions:
            if function.lineno <= error.line <= (function.end_lineno or 0):
                return function
        loops = [s for s in later if isinstance(s, _LOOPS)]
        for loop in loops:
            if loop.lineno <= error.line <= (loop.end_lineno or 0) and wanted is None:
                return loop
    return None


def _is_read_elsewhere(draft: Draft, statement: ast.stmt, names: set[str], home: ast.AST) -> bool:
    inside = set(ast.walk(home))
    return any(
        isinstance(node, ast.Name)
        and node.id in names
        and isinstance(node.ctx, ast.Load)
        and node not in inside
        and node.lineno > statement.lineno
        for node in ast.walk(draft.scope_of(statement))
    )


def _again_before_backward(task: Task, statement: ast.stmt, with_inputs: bool = False) -> None:
    """The same line once more, right before the backward that found its graph used up."""
    draft = task.draft
    error = task.same_file(task.diagnosis.error_line)
    if error is None:
        raise CannotWrite("the second use is in another file")
    failing = draft.statement_at(error.line)
    block = draft.block_of(statement)
    if failing not in block or block.index(failing) <= block.index(statement):
        raise CannotWrite("the second use is not in the same block")
    if assigned(statement) is None or not names_bound(statement) & names_read(failing):
        raise CannotWrite("the second use does not read the value itself")
    makers = [statement]
    if with_inputs:
        makers = [*_inputs_of(block, statement), statement]
        if len(makers) == 1:
            raise CannotWrite("the line is all there is")
    compute_later(draft, makers, failing)


def _inputs_of(block: list[ast.stmt], statement: ast.stmt) -> list[ast.stmt]:
    """The lines of a block that compute what a line reads; data and random numbers are kept."""
    needed, found = names_read(statement), list[ast.stmt]()
    for earlier in block[: block.index(statement)][::-1]:
        if assigned(earlier) is None or not names_bound(earlier) & needed:
            continue
        calls = [called(node) for node in ast.walk(earlier) if isinstance(node, ast.Call)]
        if not calls or any(name.startswith(("rand", "next", "sample", "to")) for name in calls):
            continue
        needed |= names_read(earlier)
        found.append(earlier)
    return found[::-1]


# ---------------------------------------------------------------------- an attribute of self


def _into_methods(task: Task, statement: ast.stmt, target: ast.Attribute, value: ast.expr) -> None:
    """`self.weights = f(self.alpha)` of `__init__` goes to the methods that read it."""
    draft = task.draft
    maker = draft.scope_of(statement)
    if not isinstance(maker, _FUNCTIONS) or dotted(target.value) != "self":
        raise CannotWrite("the value is kept by another object")
    known = _kept_by_self(draft, maker, names_read(value) & (names_bound(maker) - {"self"}))
    owner = draft.parents[maker]
    name = f"self.{target.attr}"
    reads = [
        node
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.Attribute) and node.attr == target.attr and node is not target
    ]
    methods: dict[ast.AST, list[ast.Attribute]] = {}
    for node in reads:
        method = draft.scope_of(node)
        if not isinstance(node.ctx, ast.Load) or dotted(node) != name:
            raise CannotWrite("the value is used from outside, or set again")
        if method is maker or draft.parents.get(method) is not owner:
            raise CannotWrite("the value is used in the place that makes it")
        methods.setdefault(method, []).append(node)
    if len(methods) != 1:
        raise CannotWrite("several methods use the value")
    method, uses = next(iter(methods.items()))
    assert isinstance(method, _FUNCTIONS)
    if any(any(draft.enclosing(use, ast.JoinedStr)) for use in uses):
        raise CannotWrite("the value is read inside an f-string")
    user = next(s for s in method.body if any(use in set(ast.walk(s)) for use in uses))
    text = _with_attributes(draft, value, known)
    if "\n" in text or "\r" in text:
        raise CannotWrite("the line that makes it is a long one")
    draft.remove(statement)
    if target.attr in names_bound(method) | names_read(method):
        draft.insert_before(user, f"{name} = {text}")
        return
    draft.insert_before(user, f"{target.attr} = {text}")
    for use in uses:
        draft.rewrite(use, target.attr)


def _kept_by_self(draft: Draft, maker: Function, names: set[str]) -> dict[str, str]:
    """Under which attribute the object keeps each of some variables of `__init__`, as they are."""
    found: dict[str, str] = {}
    for node in ast.walk(maker):
        pair = assigned(node) if isinstance(node, ast.stmt) else None
        if pair is not None and isinstance(pair[0], ast.Attribute):
            if isinstance(pair[1], ast.Name) and dotted(pair[0].value) == "self":
                found[pair[1].id] = f"self.{pair[0].attr}"
        call = call_statement(node, "register_buffer") if isinstance(node, ast.stmt) else None
        if call is not None and dotted(receiver(call)) == "self" and len(call.args) > 1:
            name, given = call.args[:2]
            if isinstance(name, ast.Constant) and isinstance(given, ast.Name):
                found[given.id] = "self." + str(name.value)
    set_again = {n.id for n in ast.walk(maker) if isinstance(n, ast.Name) and _is_set(n)}
    if names - set(found) or names & set_again:
        raise CannotWrite("it is computed from variables that are not known elsewhere")
    others = {
        dotted(node)
        for node in ast.walk(draft.tree)
        if isinstance(node, ast.Attribute) and _is_set(node) and draft.scope_of(node) is not maker
    }
    if {found[name] for name in names} & others:
        raise CannotWrite("what it is computed from is set again elsewhere")
    return {name: found[name] for name in names}


def _is_set(node: ast.Name | ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load)


def _with_attributes(draft: Draft, value: ast.expr, known: dict[str, str]) -> str:
    """An expression with attributes in the place of some variables."""
    text, start = draft.written(value), draft.start(value)
    names = [n for n in draft.walk(value) if isinstance(n, ast.Name) and n.id in known]
    for node in sorted(names, key=draft.start, reverse=True):
        at = draft.start(node) - start
        text = text[:at] + known[node.id] + text[at + len(node.id) :]
    return text
