"""The graph that grows: losses, outputs and states kept over iterations with their history."""

from __future__ import annotations

import ast

from retrograd.diagnostics.report import Fix, Span
from retrograd.doctor.evidence import growth
from retrograd.doctor.evidence.growth import Growing
from retrograd.doctor.model import Diagnosis
from retrograd.doctor.session import Watched
from retrograd.watching import source
from retrograd.watching.growth import without_indices


def diagnose(watched: Watched) -> list[Diagnosis]:
    """One diagnosis for each line that stores what piles up."""
    return [_diagnosis(growing) for growing in growth.gather(watched)]


def _read_items(growing: Growing) -> list[ast.Subscript]:
    """Where items of a list of activations are read for something else than a report.

    Then the list is for the loss of its own iteration: without their history the values would train
    nothing there.
    """
    statement = source.statement_at(growing.stored.file, growing.stored.line)
    if not growing.holder.dimensions or growing.window or not isinstance(statement, ast.Expr):
        return []
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return []
    tree = source.tree_of(growing.stored.file)
    reported = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, (ast.JoinedStr, ast.Call))
        and (isinstance(node, ast.JoinedStr) or _last_name(node.func) in _REPORTS)
        for inner in ast.walk(node)
    }
    filled = call.func.value
    return [
        node
        for node in _reads_of(tree, _last_name(filled))
        if node not in reported and not _is_other_key(node, filled)
    ]


def _is_other_key(node: ast.Subscript, filled: ast.expr) -> bool:
    """`log["loss"]` where `log["out"].append(...)` fills the list."""
    if not isinstance(filled, ast.Subscript) or not isinstance(filled.slice, ast.Constant):
        return False
    return isinstance(node.slice, ast.Constant) and node.slice.value != filled.slice.value


_REPORTS = frozenset("print float item tolist numpy len detach".split())


def _diagnosis(growing: Growing) -> Diagnosis:
    stored, made = growing.stored, growing.made
    name = f"`{growing.name}`"
    places = {(place.file, place.line): place for place in [stored, *reversed(made)]}
    spans = [Span("kept", stored, made, f"seen at call {growing.sample.count} of the backward")]
    if made and made[-1].line != stored.line:
        spans.append(Span("created", made[-1], made))
    title = f"{name} keeps the graphs of all earlier iterations"
    why = (
        f"Each iteration adds about {round(growing.pace)} nodes that no backward will use "
        f"again; at call {growing.sample.count} of the backward there were {growing.nodes}. They "
        "and the tensors they refer to stay in memory as long as the value is kept."
    )
    if growing.window:
        held = growing.sample.kinds[without_indices(growing.name)]
        name = f"`{growing.name.rpartition('[')[0] or growing.name}`"
        title = f"{name} keeps the graphs of {held} iterations"
        why = (
            "It is a window of bounded length, so this does not grow for ever. But at call "
            f"{growing.sample.count} of the backward {held} values in it kept {growing.nodes} "
            "nodes with their tensors, and no later backward went through any of them."
        )
    return Diagnosis(
        cause="accumulated-history",
        title=title,
        why=why,
        error_line=stored,
        created_at=list(places.values()),
        fixes=_fixes(growing),
        spans=spans,
        tensor=growing.name,
        facts={
            "nodes": growing.nodes,
            "nodes_per_iteration": growing.pace,
            "calls": growing.sample.count,
            "dimensions": growing.holder.dimensions,
            "list": growing.name.rpartition("[")[0],
            "reads_last": _reads_last(growing),
            "sent": _sent(growing),
        },
    )


def _reads_last(growing: Growing) -> bool:
    read = _read_items(growing)
    return bool(read) and all(_is_last(node, growing) for node in read)


def _is_last(node: ast.Subscript, growing: Growing) -> bool:
    """`outputs[-1]`, or the list itself in the dictionary that has it."""
    if ast.unparse(node.slice) == "-1":
        return True
    return isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)


def _sent(growing: Growing) -> int:
    """The line of the backward in the file that stores, 0 if it is in another one."""
    place = growing.sample.call.log.place_of(growing.sample.call.stack)
    return place.line if place is not None and place.file == growing.stored.file else 0


def _fixes(growing: Growing) -> list[Fix]:
    stored = growing.stored
    if _read_items(growing):
        return [
            Fix("reset-state", stored, "keep only what the loss of this iteration needs"),
            Fix("detach", stored, "or keep the numbers without their history"),
        ]
    detach = Fix("detach", stored, "keep the numbers without their history")
    if growing.holder.dimensions:
        return [detach]
    item = Fix("item-for-logging", stored, "keep the Python number: a report needs no graph")
    return [detach, item] if _stays_a_tensor(growing) else [item, detach]


def _stays_a_tensor(growing: Growing) -> bool:
    """Whether the program treats what it keeps as a tensor later, or computes it from itself."""
    names = {part.split("[")[0] for part in growing.name.split(".")}
    name = growing.name.split("[")[0].split(".")[-1]
    statement = source.statement_at(growing.stored.file, growing.stored.line)
    if isinstance(statement, (ast.Assign, ast.AnnAssign)) and "[" not in growing.name:
        return True  # value = 0.9 * value + 0.1 * loss
    for node in ast.walk(source.tree_of(growing.stored.file)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            inner = node.func.value
            if node.func.attr in _TENSOR_METHODS and (
                _last_name(inner) in {name, *names}
                or any(_last_name(part) == name for part in ast.walk(inner))
            ):
                return True
            if node.func.attr in ("stack", "cat") and any(
                _last_name(argument) == name for argument in node.args
            ):
                return True
    return False


_TENSOR_METHODS = frozenset("item detach cpu numpy mean sum tolist".split())


def _last_name(node: ast.AST) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _reads_of(tree: ast.AST, name: str) -> list[ast.Subscript]:
    """Where a text reads items of a collection of this name, other than to fill or empty them."""
    filled = {
        node.func.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("append", "extend", "insert", "clear")
    }
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and node not in filled
        and name in (getattr(node.value, "attr", ""), getattr(node.value, "id", ""))
    ]
