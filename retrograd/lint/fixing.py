"""Changes a program: the changes of fixes, made on LibCST's tree so that all else stays as it is.

Python's parser and LibCST agree on where a node begins and ends, apart from parentheses around it;
so an change finds its node by place and kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .declare import Change, Finding

INSTALL = "pip install 'retrograd[lint]'"
DEEPEST = 150
"""Programs nested deeper are not changed: LibCST's parser is recursive and has no limit."""

Position = tuple[int, int, int, int]


class CannotFix(Exception):
    """The program cannot be changed; the text says why."""


def available() -> bool:
    """Whether LibCST is installed."""
    import importlib.util

    return importlib.util.find_spec("libcst") is not None


@dataclass
class Fixed:
    """A changed program and the findings that were taken care of."""

    text: str
    done: list[Finding] = field(default_factory=list)


def fixable(findings: Iterable[Finding], unsafe: bool) -> list[Finding]:
    """The findings that have a fix, safe ones only unless told otherwise."""
    return [f for f in findings if f.repair is not None and (f.repair.safe or unsafe)]


def apply_fixes(text: str, findings: Sequence[Finding], unsafe: bool = False) -> Fixed:
    """Make the changes of the findings, those that do not touch each other.

    >>> from retrograd.lint import lint_text
    >>> source = "import torch\\nloss.backward  # now\\n"
    >>> apply_fixes(source, lint_text(source).findings, unsafe=True).text
    'import torch\\nloss.backward()  # now\\n'
    """
    import libcst as cst
    from libcst.metadata import MetadataWrapper, PositionProvider

    chosen = _apart(fixable(findings, unsafe))
    if not chosen:
        return Fixed(text)
    if _depth(ast.parse(text)) > DEEPEST:
        raise CannotFix("nested too deeply to be changed")
    try:
        wrapper = MetadataWrapper(cst.parse_module(text), unsafe_skip_copy=True)
        positions = wrapper.resolve(PositionProvider)
    except cst.ParserSyntaxError as error:
        raise CannotFix(f"LibCST cannot read it: {error.message}") from None
    except RecursionError:
        raise CannotFix("nested too deeply to be changed") from None
    lines = re.split(r"\r\n|\n|\r", text)
    wanted: dict[Position, list[Change]] = {}
    for finding in chosen:
        assert finding.repair is not None
        for change in finding.repair.changes:
            wanted.setdefault(_place(change.node, lines), []).append(change)
    changer = _changer(cst, positions, wanted)
    try:
        changed = wrapper.module.visit(changer)
    except RecursionError:
        raise CannotFix("nested too deeply to be changed") from None
    done = [
        finding
        for finding in chosen
        if finding.repair is not None
        and all(change in changer.made for change in finding.repair.changes)
    ]
    if len(done) != len(chosen):
        # never half of a fix: once more, without those that did not find their place
        return apply_fixes(text, done, unsafe)
    result = changed.code
    try:
        ast.parse(result)
    except SyntaxError as error:
        raise CannotFix(f"the change would not be a program: {error.msg}") from None
    return Fixed(result, done)


def _apart(findings: Sequence[Finding]) -> list[Finding]:
    """Those whose changes are about different places, the first of each."""
    chosen: list[Finding] = []
    taken: set[tuple[ast.AST, str]] = set()
    for finding in findings:
        assert finding.repair is not None
        keys = {(change.node, change.kind) for change in finding.repair.changes}
        if not keys & taken:
            taken |= keys
            chosen.append(finding)
    return chosen


def _depth(tree: ast.AST) -> int:
    deepest, waiting = 0, [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        deepest = max(deepest, depth)
        waiting.extend((child, depth + 1) for child in ast.iter_child_nodes(node))
    return deepest


def _place(node: Any, lines: list[str]) -> Position:
    def characters(line: int, column: int) -> int:
        text = lines[line - 1]
        return column if text.isascii() else len(text.encode()[:column].decode())

    return (
        node.lineno,
        characters(node.lineno, node.col_offset),
        node.end_lineno,
        characters(node.end_lineno, node.end_col_offset),
    )


_STATEMENTS = ("assign", "before", "block", "remove")


def _changer(cst: Any, positions: Any, wanted: dict[Position, list[Change]]) -> Any:
    """The transformer that makes the changes; made here because LibCST is imported late."""

    def place_of(node: object) -> Position:
        found = positions[node]
        return (found.start.line, found.start.column, found.end.line, found.end.column)

    class Changer(cst.CSTTransformer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.made: list[Change] = []

        def changes(self, node: object, statements: bool) -> list[Change]:
            return [
                change
                for change in wanted.get(place_of(node), ())
                if (change.kind in _STATEMENTS) == statements and change not in self.made
            ]

        def on_leave(self, original: Any, updated: Any) -> Any:
            result = super().on_leave(original, updated)
            if original not in positions or not wanted:
                return result
            if isinstance(original, cst.BaseExpression):
                for change in self.changes(original, False):
                    changed = _expression(cst, change, result)
                    if changed is not None:
                        self.made.append(change)
                        result = changed
            elif isinstance(original, cst.SimpleStatementLine):
                result = self.line(original, result)
            elif isinstance(original, cst.BaseCompoundStatement):
                for change in self.changes(original, True):
                    if change.kind == "before":
                        self.made.append(change)
                        result = _before(cst, change, result)
            return result

        def line(self, original: Any, updated: Any) -> Any:
            result = updated
            small = list(original.body)
            for index, part in enumerate(small):
                for change in self.changes(part, True):
                    if len(small) != 1:
                        continue  # `a; b`: left to the author
                    if change.kind == "assign" and isinstance(part, cst.Expr):
                        value = updated.body[index].value
                        target = cst.AssignTarget(cst.parse_expression(change.text))
                        result = result.with_changes(body=[cst.Assign([target], value)])
                    elif change.kind == "before":
                        result = _before(cst, change, result)
                    elif change.kind == "block":
                        result = _block(cst, change, result)
                    elif change.kind == "remove":
                        blank = [line for line in result.leading_lines if line.comment is not None]
                        result = (
                            cst.RemoveFromParent()
                            if not blank and result.trailing_whitespace.comment is None
                            else result.with_changes(body=[cst.Pass()])
                        )
                    self.made.append(change)
            return result

    return Changer()


def _expression(cst: Any, change: Change, node: object) -> Any:
    """The changed expression, or None if the node is not of the kind that the change is about."""
    if change.kind == "method":
        return cst.Call(cst.Attribute(_in_parentheses(cst, node), cst.Name(change.text)))
    if change.kind == "call" and isinstance(node, cst.Attribute):
        return cst.Call(node)
    if change.kind == "wrap" and isinstance(
        node, cst.List | cst.Dict | cst.ListComp | cst.DictComp
    ):
        return cst.Call(cst.parse_expression(change.text), [cst.Arg(node)])
    if change.kind == "callee" and isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute):
            return node.with_changes(func=node.func.value)
    if change.kind in ("detach", "drop-data") and isinstance(node, cst.Attribute):
        if change.kind == "drop-data":
            return node.value
        return cst.Call(node.with_changes(attr=cst.Name("detach")))
    if change.kind == "argument" and isinstance(node, cst.Call) and len(node.args) == 1:
        value = node.args[0].value
        if not change.text:
            return _in_parentheses(cst, value) if node.lpar or _loose(cst, value) else value
        text = cst.parse_expression(f"x.{change.text}")
        return _with_innermost(cst, text, _in_parentheses(cst, value))
    if change.kind == "keyword" and isinstance(node, cst.Call):
        rest = [a for a in node.args if a.keyword is None or a.keyword.value != change.text]
        if rest and len(rest) < len(node.args) and node.args[-1] not in rest:
            rest[-1] = rest[-1].with_changes(comma=node.args[-1].comma)
        return node.with_changes(args=rest)
    return None


def _loose(cst: Any, node: Any) -> bool:
    """Whether an expression needs parentheses in front of a dot."""
    tight = (
        *(cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Dict, cst.ListComp),
        *(cst.DictComp, cst.SetComp, cst.Set, cst.SimpleString),
    )
    return not node.lpar and not isinstance(node, tight)


def _in_parentheses(cst: Any, node: Any) -> Any:
    if not _loose(cst, node):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _with_innermost(cst: Any, node: Any, value: object) -> Any:
    """`x.a().b()` with `value` in the place of `x`."""
    if isinstance(node, cst.Name):
        return value
    part = "func" if isinstance(node, cst.Call) else "value"
    return node.with_changes(**{part: _with_innermost(cst, getattr(node, part), value)})


def _before(cst: Any, change: Change, node: Any) -> Any:
    new = cst.parse_statement(change.text).with_changes(leading_lines=node.leading_lines)
    return cst.FlattenSentinel([new, node.with_changes(leading_lines=[])])


def _block(cst: Any, change: Change, node: Any) -> Any:
    head = cst.parse_statement(f"with {change.text}:\n    pass\n")
    body = head.body.with_changes(body=[node.with_changes(leading_lines=[])])
    return head.with_changes(body=body, leading_lines=node.leading_lines)
