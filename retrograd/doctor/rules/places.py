"""Where an edit goes: the line a person would change, found from stacks, holders and the text."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Place
from retrograd.doctor.evidence import repeats
from retrograd.doctor.evidence.second_backward import SecondBackward, Stack
from retrograd.doctor.rules.held_paths import (
    base_name,
    inner_variable,
    is_container_item,
    last_attribute,
)
from retrograd.doctor.rules.reading_lines import (
    line_reading_attribute,
    line_reading_variable,
    lines_reading,
    updated_attribute,
)
from retrograd.doctor.rules.storing_lines import (
    adds_item,
    is_named,
    line_storing,
)
from retrograd.watching import source
from retrograd.watching.holders import Held
from retrograd.watching.lines import Step
from retrograd.watching.records import OptimizerStep


def in_chain(stack: Stack, chain: int) -> Place | None:
    """The line of a stack in the frame of a chain."""
    for known, place in stack:
        if known == chain:
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
        stored = line_storing(made, attribute)
        appended = stored is not None and is_container_item(held.path) and adds_item(stored)
        if appended or (stored is not None and lines_reading(consumers, attribute) > 1):
            return stored  # appended, or several readers: cut it once, where it is kept
        return (
            line_reading_attribute(consumers, attribute)
            or stored
            or source.where_kept([place for _, place in made])
        )
    if held is None:
        updated = updated_attribute(consumers)
        if updated is not None:
            return updated[0]
        name = _of_a_generator(evidence)
        reading = None if name is None else line_reading_variable(consumers, name)
        if reading is not None:
            return reading
    inner = None if held is None else inner_variable(held.path)
    if inner is not None:
        reading = line_reading_variable(consumers, inner)
        if reading is not None:
            return reading
    if held is not None and is_container_item(held.path) and attribute is None:
        name = base_name(held.path)
        stored = line_storing(made, name)
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
            if any(is_named(target, held.path) for target in statement.targets):
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


def before_inner_loop(evidence: SecondBackward) -> Place | None:
    """For a value kept inside a function: the head of the loop that carries it within the pass."""
    held = evidence.held
    name = _of_a_generator(evidence) if held is None else inner_variable(held.path)
    if name is None:
        return None
    reading = line_reading_variable(evidence.consumers, name)
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
