"""Changes a program: the edits of fixes, made on LibCST's tree so that all else stays as it is.

Python's parser and LibCST agree on where a node begins and ends, apart from parentheses around it;
so an edit finds its node by place and kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .declare import Edit, Finding

INSTALL = "pip install 'retrograd[lint]'"
DEEPEST = 150
"""Programs nested deeper are not changed: LibCST's parser is recursive and has no limit."""

Place = tuple[int, int, int, int]


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
    return [f for f in findings if f.fix is not None and (f.fix.safe or unsafe)]


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
    wanted: dict[Place, list[Edit]] = {}
    for finding in chosen:
        assert finding.fix is not None
        for edit in finding.fix.edits:
            wanted.setdefault(_place(edit.node, lines), []).append(edit)
    changer = _changer(cst, positions, wanted)
    try:
        changed = wrapper.module.visit(changer)
    except RecursionError:
        raise CannotFix("nested too deeply to be changed") from None
    done = [
        finding
        for finding in chosen
        if finding.fix is not None and all(edit in changer.made for edit in finding.fix.edits)
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
    """Those whose edits are about different places, the first of each."""
    chosen: list[Finding] = []
    taken: set[tuple[ast.AST, str]] = set()
    for finding in findings:
        assert finding.fix is not None
        keys = {(edit.node, edit.kind) for edit in finding.fix.edits}
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


def _place(node: Any, lines: list[str]) -> Place:
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


def _changer(cst: Any, positions: Any, wanted: dict[Place, list[Edit]]) -> Any:
    """The transformer that makes the edits; made here because LibCST is imported late."""

    def place_of(node: object) -> Place:
        found = positions[node]
        return (found.start.line, found.start.column, found.end.line, found.end.column)

    class Changer(cst.CSTTransformer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.made: list[Edit] = []

        def edits(self, node: object, statements: bool) -> list[Edit]:
            return [
                edit
                for edit in wanted.get(place_of(node), ())
                if (edit.kind in _STATEMENTS) == statements and edit not in self.made
            ]

        def on_leave(self, original: Any, updated: Any) -> Any:
            result = super().on_leave(original, updated)
            if original not in positions or not wanted:
                return result
            if isinstance(original, cst.BaseExpression):
                for edit in self.edits(original, False):
                    changed = _expression(cst, edit, result)
                    if changed is not None:
                        self.made.append(edit)
                        result = changed
            elif isinstance(original, cst.SimpleStatementLine):
                result = self.line(original, result)
            elif isinstance(original, cst.BaseCompoundStatement):
                for edit in self.edits(original, True):
                    if edit.kind == "before":
                        self.made.append(edit)
                        result = _before(cst, edit, result)
            return result

        def line(self, original: Any, updated: Any) -> Any:
            result = updated
            small = list(original.body)
            for index, part in enumerate(small):
                for edit in self.edits(part, True):
                    if len(small) != 1:
                        continue  # `a; b`: left to the author
                    if edit.kind == "assign" and isinstance(part, cst.Expr):
                        value = updated.body[index].value
                        target = cst.AssignTarget(cst.parse_expression(edit.text))
                        result = result.with_changes(body=[cst.Assign([target], value)])
                    elif edit.kind == "before":
                        result = _before(cst, edit, result)
                    elif edit.kind == "block":
                        result = _block(cst, edit, result)
                    elif edit.kind == "remove":
                        blank = [line for line in result.leading_lines if line.comment is not None]
                        result = (
                            cst.RemoveFromParent()
                            if not blank and result.trailing_whitespace.comment is None
                            else result.with_changes(body=[cst.Pass()])
                        )
                    self.made.append(edit)
            return result

    return Changer()


def _expression(cst: Any, edit: Edit, node: object) -> Any:
    """The changed expression, or None if the node is not of the kind that the edit is about."""
    if edit.kind == "method":
        return cst.Call(cst.Attribute(_in_parentheses(cst, node), cst.Name(edit.text)))
    if edit.kind == "call" and isinstance(node, cst.Attribute):
        return cst.Call(node)
    if edit.kind == "wrap" and isinstance(node, cst.List | cst.Dict | cst.ListComp | cst.DictComp):
        return cst.Call(cst.parse_expression(edit.text), [cst.Arg(node)])
    if edit.kind == "callee" and isinstance(node, cst.Call):
        if isinstance(node.func, cst.Attribute):
            return node.with_changes(func=node.func.value)
    if edit.kind in ("detach", "drop-data") and isinstance(node, cst.Attribute):
        if edit.kind == "drop-data":
            return node.value
        return cst.Call(node.with_changes(attr=cst.Name("detach")))
    if edit.kind == "argument" and isinstance(node, cst.Call) and len(node.args) == 1:
        value = node.args[0].value
        if not edit.text:
            return _in_parentheses(cst, value) if node.lpar or _loose(cst, value) else value
        text = cst.parse_expression(f"x.{edit.text}")
        return _with_innermost(cst, text, _in_parentheses(cst, value))
    if edit.kind == "keyword" and isinstance(node, cst.Call):
        rest = [a for a in node.args if a.keyword is None or a.keyword.value != edit.text]
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


def _before(cst: Any, edit: Edit, node: Any) -> Any:
    new = cst.parse_statement(edit.text).with_changes(leading_lines=node.leading_lines)
    return cst.FlattenSentinel([new, node.with_changes(leading_lines=[])])


def _block(cst: Any, edit: Edit, node: Any) -> Any:
    head = cst.parse_statement(f"with {edit.text}:\n    pass\n")
    body = head.body.with_changes(body=[node.with_changes(leading_lines=[])])
    return head.with_changes(body=body, leading_lines=node.leading_lines)
