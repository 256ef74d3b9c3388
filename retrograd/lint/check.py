"""Checks one file: reads it, runs the rules, leaves out what `# noqa` says."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Collection
from dataclasses import dataclass, field

from ..diagnostics.report import Place, Span, advice
from .declare import Finding, Found, Rule
from .program import Program, TooSlow
from .rules import RULES

SECONDS = 10.0
"""The time that one file may take."""
LONGEST = 5_000_000
"""Characters that one file may have."""
_NOQA = re.compile(r"#\s*noqa(?::\s*(?P<codes>[A-Z]+\d+(?:[\s,]+[A-Z]+\d+)*))?", re.IGNORECASE)


@dataclass
class Report:
    """What was found in a file, or why it could not be read (`error`, at `line`)."""

    path: str
    findings: list[Finding] = field(default_factory=list)
    error: str = ""
    line: int = 0
    column: int = 0
    suppressed: int = 0


def selected(select: Collection[str] = (), ignore: Collection[str] = ()) -> list[Rule]:
    """The rules that run: codes or their beginnings; `ALL` is every one, also the hints.

    >>> [rule.code for rule in selected(["RGL10"], ["RGL104", "RGL105"])]
    ['RGL101', 'RGL102', 'RGL103']
    """

    def chosen(rule: Rule, codes: Collection[str]) -> bool:
        return any(
            code == "ALL" or rule.code.startswith(code) or rule.slug == code for code in codes
        )

    on = [rule for rule in RULES.values() if (chosen(rule, select) if select else rule.default)]
    return [rule for rule in on if not chosen(rule, ignore)]


def lint_text(
    text: str, path: str = "<text>", rules: Collection[Rule] | None = None, seconds: float = SECONDS
) -> Report:
    """Check a program.

    >>> lint_text("import torch\\nloss.backward\\n", "train.py").findings[0].title
    '`loss.backward` is not called'
    """
    report = Report(path)
    if len(text) > LONGEST:
        report.error = f"longer than {LONGEST:,} characters: not checked"
        return report
    if "torch" not in text and "retrograd" not in text:
        return _syntax_only(text, report)
    try:
        tree = _parsed(text, report)
        if tree is None:
            return report
        program = Program(text, path, tree, seconds)
        if not program.uses_torch:
            return report
        silenced = _noqa(text)
        for rule in selected() if rules is None else rules:
            program.hurry()
            for found in rule.check(program):
                program.hurry()
                finding = _finding(rule, found, program)
                if _is_silenced(finding, silenced):
                    report.suppressed += 1
                elif finding not in report.findings:
                    report.findings.append(finding)
    except RecursionError:
        report.findings.clear()
        report.error = "nested too deeply: not checked"
    except TooSlow:
        report.findings.clear()
        report.error = f"took longer than {seconds:g} s: not checked"
    report.findings.sort(key=lambda f: (f.start, f.code))
    return report


def _syntax_only(text: str, report: Report) -> Report:
    _parsed(text, report)
    return report


def _parsed(text: str, report: Report) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like are not our concern
            return ast.parse(text)
    except SyntaxError as error:
        report.error = f"syntax error: {error.msg}"
        report.line, report.column = error.lineno or 1, error.offset or 1
    except ValueError as error:  # null bytes
        report.error = f"syntax error: {error}"
        report.line = report.column = 1
    except (RecursionError, MemoryError):
        report.error = "nested too deeply: not checked"
    return None


def _finding(rule: Rule, found: Found, program: Program) -> Finding:
    node = found.node
    line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line = getattr(node, "end_lineno", None) or line
    end_column = getattr(node, "end_col_offset", None) or column
    if isinstance(
        node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While
    ):
        end_line, end_column = line, column
    lines = program.lines
    place = Place(
        program.path,
        line,
        column=_characters(lines, line, column),
        end_line=end_line,
        end_column=_characters(lines, end_line, end_column),
        source=lines[line - 1] if line <= len(lines) else None,
    )
    return Finding(
        rule.code,
        found.message,
        [Span("", place, primary=True)],
        fixes=[advice(text) for text in found.helps],
        level=rule.level,
        slug=rule.slug,
        place=place,
        repair=found.repair,
    )


def _characters(lines: list[str], line: int, column: int) -> int:
    """A column in characters; Python counts bytes."""
    text = lines[line - 1] if line <= len(lines) else ""
    if text.isascii():
        return column
    return len(text.encode("utf-8")[:column].decode("utf-8", "ignore"))


def _noqa(text: str) -> dict[int, frozenset[str]]:
    """The lines with `# noqa`, each with its codes; no codes are all codes."""
    found: dict[int, frozenset[str]] = {}
    if "noqa" not in text.lower():
        return found
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and (match := _NOQA.search(token.string)):
                codes = re.split(r"[\s,]+", match["codes"].upper()) if match["codes"] else []
                found[token.start[0]] = frozenset(codes)
    except (tokenize.TokenError, SyntaxError):
        pass  # the parser has read it, so this is the end of the file without a newline
    return found


def _is_silenced(finding: Finding, silenced: dict[int, frozenset[str]]) -> bool:
    for line in {finding.start[0], finding.end[0]}:
        codes = silenced.get(line)
        if codes is not None and (not codes or finding.code in codes):
            return True
    return False
