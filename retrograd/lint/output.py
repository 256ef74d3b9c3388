"""Findings as text and counts; what other programs read is in `formats`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from retrograd.diagnostics.layout import counted
from retrograd.diagnostics.render import Painter

from .check import Report
from .rules import RULES


def as_text(reports: Iterable[Report], colour: bool = False) -> str:
    """One line for each finding, with its advice below.

    >>> from retrograd.lint import lint_text
    >>> print(as_text([lint_text("import torch\\nloss.backward\\n", "train.py")]), end="")
    train.py:2:1: RGL205 `loss.backward` is not called
        help: add the parentheses
    """
    paint = Painter(colour)
    lines = []
    for report in reports:
        if report.error:
            place = f"{report.path}:{report.line}:{report.column}" if report.line else report.path
            lines.append(f"{paint('heading', place)}: {paint('error', 'error')}: {report.error}")
        for finding in report.findings:
            place = f"{finding.place.file}:{finding.start[0]}:{finding.start[1]}"
            safe = finding.repair is not None and finding.repair.safe
            mark = " " + paint("help", "[*]") if safe else ""
            code = paint(finding.level, finding.code)
            lines.append(f"{paint('heading', place)}: {code}{mark} {finding.title}")
            lines += [f"    {paint('help', 'help')}: {fix.text}" for fix in finding.fixes]
    return "".join(line + "\n" for line in lines)


def as_concise(reports: Iterable[Report]) -> str:
    """One line for each finding and nothing else: `file:line:column: code text`.

    >>> from retrograd.lint import lint_text
    >>> print(as_concise([lint_text("import torch\\nloss.backward\\n", "train.py")]), end="")
    train.py:2:1: RGL205 `loss.backward` is not called
    """
    lines = []
    for report in reports:
        if report.error:
            place = f"{report.path}:{report.line or 1}:{report.column or 1}"
            lines.append(f"{place}: error {report.error}")
        lines += [
            f"{finding.place.file}:{finding.start[0]}:{finding.start[1]}: "
            f"{finding.code} {finding.title}"
            for finding in report.findings
        ]
    return "".join(line + "\n" for line in lines)


def summary(reports: Sequence[Report], fixed: int | None = None) -> str:
    """The last line; `fixed` is None where nothing was to be changed."""
    findings = [finding for report in reports for finding in report.findings]
    errors = sum(bool(report.error) for report in reports)
    parts = []
    if findings:
        files = counted(sum(bool(report.findings) for report in reports), "file")
        found = counted(len(findings), "finding")
        parts.append(
            f"{found if fixed is None else f'fixed {fixed}, left {len(findings)}'} in {files}"
        )
        safe = sum(f.repair is not None and f.repair.safe for f in findings)
        unsafe = sum(f.repair is not None and not f.repair.safe for f in findings)
        if safe:
            parts.append(f"{safe} [*] can be fixed with --fix")
        if unsafe:
            parts.append(f"{unsafe} with --fix --unsafe-fixes")
    elif fixed:
        parts.append(f"fixed {fixed}, left 0")
    elif not reports:
        parts.append("there are no Python files here")
    elif not errors:
        parts.append(f"nothing found in {counted(len(reports), 'file')}")
    if errors:
        parts.append(f"{counted(errors, 'file')} could not be checked")
    return ", ".join(parts) + "\n"


def statistics(reports: Iterable[Report]) -> list[dict[str, object]]:
    """How often each rule was found, the most frequent first."""
    counts = Counter(finding.code for report in reports for finding in report.findings)
    return [
        {"code": code, "slug": RULES[code].slug, "summary": RULES[code].summary, "count": count}
        for code, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]


def statistics_text(reports: Iterable[Report]) -> str:
    """The counts as a table."""
    rows = statistics(reports)
    width = max((len(str(row["count"])) for row in rows), default=0)
    return "".join(f"{row['count']:>{width}}  {row['code']}  {row['summary']}\n" for row in rows)
