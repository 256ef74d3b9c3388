"""Where an edit goes: the line a person would change, found from stacks, holders and the text."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence import repeats
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.watching import source
from retrograd.watching.holders import Held
from retrograd.watching.lines import Step
from retrograd.watching.records import OptimizerStep


def base_name(path: str) -> str:
    """The variable that a path begins with: hidden of hidden[0]; self of self.memory."""
    for position, letter in enumerate(path):
        if letter in ".[ ":
            return path[:position]
    return path


def last_attribute(path: str) -> str | None:
    """The last attribute of a path: _latent of agent.tracker._latent[2]; None if there is none."""
    plain = path.split("[")[0].split(" ")[0]
    return plain.rpartition(".")[2] if "." in plain else None


def is_container_item(path: str) -> bool:
    """Whether the path ends inside a list, tuple or dict."""
    return path.endswith("]")


def in_chain(stack: Stack, chain: int) -> Place | None:
    """The line of a stack in the frame of a chain."""
    for known, place in stack:
        if known == chain:
            return place
    return None


def frame_line_reading(stack: Stack, name: str) -> Place | None:
    """The outermost line of a stack whose statement reads a variable."""
    for _, place in stack:
        if source.reads(place.file, place.line, name):
            return place
    return None


def detach_line(evidence: SecondBackward) -> Place | None:
    """The line for `.detach()`, for a value carried from pass to pass."""
    dropped = _dropped_detach(evidence)
    if dropped is not None:
        return dropped
    held, consumers, made = evidence.held, evidence.consumers, evidence.made
    attribute = None if held is None else last_attribute(held.path)
    if held is not None and attribute is not None and not _is_rebound_in_loop(evidence, held):
        stored = _line_storing(made, attribute)
        appended = stored is not None and is_container_item(held.path) and _adds_item(stored)
        if appended or (stored is not None and _lines_reading(consumers, attribute) > 1):
            return stored  # appended, or several readers: cut it once, where it is kept
        return (
            _line_reading_attribute(consumers, attribute)
            or stored
            or source.where_kept([place for _, place in made])
        )
    if held is None:
        updated = updated_attribute(consumers)
        if updated is not None:
            return updated[0]
    inner = None if held is None else inner_variable(held.path)
    if inner is not None:
        reading = _line_reading_variable(consumers, inner)
        if reading is not None:
            return reading
    if held is not None and is_container_item(held.path) and attribute is None:
        name = base_name(held.path)
        stored = _line_storing(made, name)
        if stored is not None:
            return stored
    if evidence.repetition is not None and consumers:
        alias = _line_renaming(evidence) or line_that_ends_pass(evidence)
        if alias is not None:
            return alias
        # a variable of the loop's own frame: the line that hands it on
        handed = in_chain(consumers[0], evidence.repetition.chain)
        if handed is not None:
            return handed
    return source.where_kept([place for _, place in made])


def _adds_item(place: Place) -> bool:
    """`memory.append(x)`, `memory[key] = x`."""
    statement = source.statement_at(place.file, place.line)
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Subscript)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)


def keeps_the_first(place: Place) -> bool:
    """`results.setdefault(key, value)`: whether a line keeps the first value of a key for ever."""
    statement = source.statement_at(place.file, place.line)
    call = statement.value if isinstance(statement, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and function.attr == "setdefault"


def is_only_handed_on(place: Place) -> bool:
    """Whether the variable that a line sets is only returned or handed over, as it is.

    Then to detach it there is to detach it wherever it is used, and keeps no graph meanwhile.
    """
    statement = source.statement_at(place.file, place.line)
    function = source.function_around(place.file, place.line)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if function is None or not isinstance(target, ast.Name):
        return False
    handed: set[ast.AST] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            handed.add(value)
            if isinstance(value, ast.Call):
                handed.update([*value.args, *(keyword.value for keyword in value.keywords)])
            elif isinstance(value, (ast.Tuple, ast.List)):
                handed.update(value.elts)
            elif isinstance(value, ast.Dict):
                handed.update(value.values)
    reads = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == target.id and isinstance(node.ctx, ast.Load)
    ]
    return bool(reads) and all(node in handed for node in reads)


def is_read_after_loop(added: Place, evidence: SecondBackward) -> bool:
    """Whether what a line adds to is read after the loop that repeats."""
    repetition = evidence.repetition
    statement = source.statement_at(added.file, added.line)
    if repetition is None or repetition.loop is None or added.file != repetition.file:
        return False
    if not isinstance(statement, (ast.AugAssign, ast.Assign)):
        return False
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    scope = source.function_around(added.file, added.line) or source.tree_of(added.file)
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and isinstance(node.ctx, ast.Load)
        and ast.unparse(node) == ast.unparse(target)
        and node.lineno > repetition.loop.end
        for node in ast.walk(scope)
    )


def _line_renaming(evidence: SecondBackward) -> Place | None:
    """`previous = state` at the head of a pass, where several lines read the new name."""
    held, repetition = evidence.held, evidence.repetition
    if held is None or not held.path.isidentifier():
        return None
    if repetition is None or repetition.loop is None:
        return None
    handed = {place for s in evidence.consumers if (place := in_chain(s, repetition.chain))}
    if len(handed) < 2:
        return None
    first = min(place.line for place in handed)
    for line in range(repetition.loop.header + 1, first):
        statement = source.statement_at(repetition.file, line)
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
            if any(_is_named(target, held.path) for target in statement.targets):
                return Place(repetition.file, statement.lineno)
    return None


def line_that_ends_pass(evidence: SecondBackward) -> Place | None:
    """`center = 0.9 * center + ...` for the next pass only, where several lines take it from there.

    To cut it in this line is to cut it in all of them.
    """
    held, repetition = evidence.held, evidence.repetition
    if held is None or not held.path.isidentifier() or not evidence.made:
        return None
    if repetition is None or repetition.loop is None:
        return None
    made, loop = in_chain(evidence.made, repetition.chain), repetition.loop
    if made is None or not source.writes(made.file, made.line, held.path):
        return None
    lines = range(loop.header, loop.end + 1)
    used = {line for line in lines if source.reads(made.file, line, held.path)}
    return made if len(used) > 1 and max(used) <= made.line else None


def _is_rebound_in_loop(evidence: SecondBackward, held: Held) -> bool:
    """Whether the variable that leads to the value is assigned anew in each pass of the loop."""
    repetition = evidence.repetition
    if repetition is None or repetition.loop is None:
        return False
    if held.frame.f_code.co_filename != repetition.file:
        return False
    name, loop = base_name(held.path), repetition.loop
    return any(
        source.writes(repetition.file, line, name) for line in range(loop.header + 1, loop.end + 1)
    )


def _lines_reading(consumers: list[Stack], attribute: str) -> int:
    """How many different lines take the value straight from the attribute."""
    lines = {
        (stack[-1][1].file, stack[-1][1].line)
        for stack in consumers
        if _mentions_attribute(stack[-1][1].file, stack[-1][1].line, attribute)
    }
    return len(lines)


def inner_variable(path: str) -> str | None:
    """The variable of a closure or of a suspended generator: state of "running (its state)"."""
    _, found, name = path.partition("(its ")
    return name.split(")")[0] if found else None


def _line_reading_variable(consumers: list[Stack], name: str) -> Place | None:
    """The last line up to the consuming one that reads a variable, in the function that does."""
    for stack in consumers:
        for _, place in stack:  # from outside: an inner function may have a parameter so named
            function = source.function_around(place.file, place.line)
            if function is None:
                continue
            lines = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Name)
                and node.id == name
                and isinstance(node.ctx, ast.Load)
                and node.lineno <= place.line
            ]
            if lines:
                return Place(place.file, max(lines), place.function)
    return None


def before_inner_loop(evidence: SecondBackward) -> Place | None:
    """For a value kept inside a function: the head of the loop that carries it within the pass."""
    held = evidence.held
    name = _of_a_generator(evidence) if held is None else inner_variable(held.path)
    if name is None:
        return None
    reading = _line_reading_variable(evidence.consumers, name)
    if reading is None:
        return None
    function = source.function_around(reading.file, reading.line)
    first = 0 if function is None else function.lineno
    loops = [
        loop for loop in source.loops_around(reading.file, reading.line) if loop.header > first
    ]
    if not loops:
        return reading
    return Place(reading.file, loops[-1].header, reading.function)


def _of_a_generator(evidence: SecondBackward) -> str | None:
    """The variable of a suspended generator that nothing else holds, as its own lines tell."""
    if not evidence.made or not evidence.consumers or not evidence.consumers[0]:
        return None
    made = evidence.made[-1][1]
    function = source.function_around(made.file, made.line)
    if function is None or not any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function)
    ):
        return None
    return next(iter(carried_together(evidence)), None)


def carried_together(evidence: SecondBackward) -> list[str]:
    """The variables that one line sets and one line of the same function goes on from: `h, c`."""
    if not evidence.made or not evidence.consumers or not evidence.consumers[0]:
        return []
    made, used = evidence.made[-1][1], evidence.consumers[0][-1][1]
    functions = [source.function_around(place.file, place.line) for place in (made, used)]
    if made.file != used.file or functions[0] is not functions[1]:
        return []
    names = source.assigned_names(made.file, made.line)
    return [name for name in names if source.reads(used.file, used.line, name)]


def handed_to_both(evidence: SecondBackward) -> tuple[Place, str] | None:
    """Where the ways to the two calls part: the earlier line, and the one value both are given."""
    before, after = (evidence.log.places_of(call.stack) for call in (evidence.freer, evidence.call))
    for early, late in zip(before, after, strict=False):
        if (early.file, early.line) == (late.file, late.line):
            continue
        given = _arguments(early) & _arguments(late)
        return (early, given.pop()) if early.file == late.file and len(given) == 1 else None
    return None


def _arguments(place: Place) -> set[str]:
    """The variables that the calls of a line are given as they are."""
    statement = source.statement_at(place.file, place.line)
    calls = [n for n in ast.walk(statement) if isinstance(n, ast.Call)] if statement else []
    return {
        argument.id
        for call in calls
        for argument in [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(argument, ast.Name)
    }


def diverging_line(evidence: SecondBackward) -> Place | None:
    """Where the ways to the two calls part: the failing one's line in the last common frame."""
    chains = evidence.log.chains
    pairs = zip(evidence.freer.stack, evidence.call.stack, strict=False)
    for before, after in pairs:
        if before.chain == after.chain and before.line != after.line:
            code = chains.of(after.chain).code
            return Place(code.co_filename, after.line, code.co_qualname)
    return evidence.log.place_of(evidence.call.stack)


def store_line(evidence: SecondBackward) -> Place | None:
    """The line that puts the value into the collection or attribute that holds it."""
    held = evidence.held
    if held is None or (held.container is None and "." not in held.path):
        return None
    name = last_attribute(held.path) or base_name(held.path)
    return _line_storing(evidence.made, name)


def _dropped_detach(evidence: SecondBackward) -> Place | None:
    """A line that calls `detach()` and drops the result, in a file of the stacks."""
    files = dict.fromkeys(
        place.file for stack in [evidence.made, *evidence.consumers] for _, place in stack
    )
    for file in files:
        lines = source.dropped_calls(file, "detach")
        if lines:
            return Place(file, lines[-1])
    return None


def _line_reading_attribute(consumers: list[Stack], attribute: str) -> Place | None:
    """The consuming line if it reads the attribute, else the line that put it into a variable."""
    for stack in consumers:
        for _, place in reversed(stack):
            if _mentions_attribute(place.file, place.line, attribute):
                return place
    for stack in consumers:
        for _, place in reversed(stack):
            function = source.function_around(place.file, place.line)
            if function is None:
                continue
            lines = [
                node.lineno
                for node in ast.walk(function)
                if isinstance(node, ast.Attribute)
                and node.attr == attribute
                and isinstance(node.ctx, ast.Load)
                and node.lineno <= place.line
            ]
            if lines:
                return Place(place.file, max(lines), place.function)
    return None


def updated_attribute(consumers: list[Stack]) -> tuple[Place, str] | None:
    """The consuming line at which a state is updated, and the state: there it lives.

    It reads an attribute that its function sets, or sets an attribute or an item itself.
    """
    for stack in consumers:
        place = stack[-1][1]
        function = source.function_around(place.file, place.line)
        if function is None:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if _mentions_attribute(place.file, place.line, node.attr):
                    return place, ast.unparse(node)
    for stack in consumers:
        place = stack[-1][1]
        statement = source.statement_at(place.file, place.line)
        if isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                return place, ast.unparse(target)
    return None


def _mentions_attribute(file: str, line: int, attribute: str) -> bool:
    statement = source.statement_at(file, line)
    if statement is None:
        return False
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == attribute
        and isinstance(node.ctx, ast.Load)
        for node in ast.walk(statement)
    )


def _line_storing(made: Stack, name: str) -> Place | None:
    """The line of the making functions that stores into a variable or attribute of this name."""
    for _, place in reversed(made):
        function = source.function_around(place.file, place.line)
        scope: ast.AST = source.tree_of(place.file) if function is None else function
        lines = [
            node.lineno
            for node in ast.walk(scope)
            if isinstance(node, (ast.stmt, ast.expr)) and _stores_into(node, name)
        ]
        if lines:
            later = [line for line in lines if line >= place.line]
            return Place(place.file, min(later) if later else max(lines), place.function)
    return None


def _stores_into(node: ast.AST, name: str) -> bool:
    """`name.append(x)`, `name[i] = x`, `self.name = x`, `name += x`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        adds = node.func.attr in (
            "append",
            "appendleft",
            "extend",
            "insert",
            "add",
            "put",
            "update",
            "setdefault",
            "__setitem__",
        )
        return adds and _is_named(node.func.value, name)
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            inner = target.value if isinstance(target, ast.Subscript) else target
            if _is_named(inner, name):
                return True
    return False


def is_memo(evidence: SecondBackward) -> bool:
    """Whether the value was put into a dict that is only filled where a key is missing.

    `if key in known: return known[key]` before the line that stores, or `if key not in known:`
    around it. A table whose entries are written again is no memo.
    """
    held, stored = evidence.held, store_line(evidence)
    if held is None or stored is None or not isinstance(held.container, dict):
        return False
    name = last_attribute(held.path) or base_name(held.path)
    function = source.function_around(stored.file, stored.line)
    tree = source.tree_of(stored.file)
    stores = [node for node in ast.walk(tree) if _stores_into(node, name) and _fills(node)]
    if function is None or len(stores) != 1:
        return False
    store = stores[0]
    value = store.value if isinstance(store, ast.Assign) else None
    if value is not None and any(_is_named(part, name) for part in ast.walk(value)):
        return False  # computed from the entry that is there
    for node in ast.walk(function):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare):
            if not any(_is_named(part, name) for part in ast.walk(node.test)):
                continue
            asked = node.test.ops[0]
            if isinstance(asked, ast.In) and any(isinstance(s, ast.Return) for s in node.body):
                return True
            if isinstance(asked, ast.NotIn) and store in set(ast.walk(node)):
                return True
    return False


def _fills(node: ast.AST) -> bool:
    """Whether a statement stores an item, and does not make the collection."""
    if isinstance(node, ast.Assign):
        return any(isinstance(target, ast.Subscript) for target in node.targets)
    return True


def _is_named(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, ast.Attribute) and node.attr == name


def step_line(evidence: SecondBackward, steps: list[OptimizerStep]) -> Place | None:
    """The line of the last optimizer step before the failing call."""
    earlier = steps[: evidence.call.steps]
    if not earlier or repeats.is_called_beside(evidence.call, evidence.repetition):
        return None  # no step, or a library's
    stack: list[Step] = earlier[-1].stack
    if evidence.held is not None:  # where the state is known, as near to the step as possible
        for step in reversed(stack):
            code = evidence.log.chains.of(step.chain).code
            if code is evidence.held.frame.f_code:
                return Place(code.co_filename, step.line, code.co_qualname)
    if evidence.repetition is not None:
        for step in stack:
            if step.chain == evidence.repetition.chain:
                code = evidence.log.chains.of(step.chain).code
                return Place(code.co_filename, step.line, code.co_qualname)
    return evidence.log.place_of(stack)


def called_by_its_users(evidence: SecondBackward) -> str:
    """`self.state`, as the lines that use the value call what `model.state` is outside."""
    if evidence.held is None or not repeats.is_called_beside(evidence.call, evidence.repetition):
        return ""
    attribute = last_attribute(evidence.held.path)
    for stack in [*evidence.consumers, evidence.made]:
        function = source.function_around(stack[-1][1].file, stack[-1][1].line) if stack else None
        for node in [] if function is None else ast.walk(function):
            if isinstance(node, ast.Attribute) and node.attr == attribute:
                _, bracket, items = evidence.held.path.rpartition(f".{attribute}")[2].partition("[")
                return f"{ast.unparse(node)}{bracket}{items}"
    return ""


def called_in_words(held: Held | None, made: Stack) -> str:
    """What the user calls the value: the holder's path, else a name assigned by the making line."""
    if held is not None:
        return held.path
    for _, place in reversed(made):
        names = source.assigned_names(place.file, place.line)
        if names:
            return names[0]
    return ""
