"""Findings as text, JSON, SARIF and counts."""

from __future__ import annotations

import importlib.metadata
import json
import urllib.parse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from retrograd.diagnostics.layout import counted
from retrograd.diagnostics.render import Painter

from .check import Report
from .declare import Finding
from .rules import RULES

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


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


def summary(reports: Sequence[Report], fixed: int = 0) -> str:
    """The last line."""
    findings = [finding for report in reports for finding in report.findings]
    errors = sum(bool(report.error) for report in reports)
    parts = []
    if fixed:
        parts.append(f"{counted(fixed, 'finding')} fixed")
    if findings:
        files = sum(bool(report.findings) for report in reports)
        parts.append(f"{counted(len(findings), 'finding')} in {counted(files, 'file')}")
        safe = sum(f.repair is not None and f.repair.safe for f in findings)
        unsafe = sum(f.repair is not None and not f.repair.safe for f in findings)
        if safe:
            parts.append(f"{safe} [*] can be fixed with --fix")
        if unsafe:
            parts.append(f"{unsafe} with --fix --unsafe-fixes")
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


def as_json(reports: Sequence[Report], fixed: Sequence[Finding] = ()) -> str:
    """Everything as one JSON object."""
    data = {
        "version": 1,
        "files": len(reports),
        "findings": [finding.to_dict() for report in reports for finding in report.findings],
        "errors": [
            {"file": r.path, "line": r.line, "column": r.column, "message": r.error}
            for r in reports
            if r.error
        ],
        "fixed": [finding.to_dict() for finding in fixed],
        "statistics": statistics(reports),
    }
    return json.dumps(data, indent=2) + "\n"


def as_sarif(reports: Sequence[Report]) -> str:
    """Everything as SARIF 2.1.0, which code hosts and editors read."""
    rules = [
        {
            "id": rule.code,
            "name": "".join(word.capitalize() for word in rule.slug.split("-")),
            "shortDescription": {"text": rule.summary},
            "fullDescription": {"text": rule.sections["Why is this bad"]},
            "help": {"text": rule.page, "markdown": rule.page},
            "defaultConfiguration": {"level": "warning" if rule.default else "note"},
        }
        for rule in RULES.values()
    ]
    places = {code: index for index, code in enumerate(RULES)}
    results = []
    for report in reports:
        for finding in report.findings:
            text = finding.title + "".join(f"\nhelp: {fix.text}" for fix in finding.fixes)
            region = {
                "startLine": finding.start[0],
                "startColumn": finding.start[1],
                "endLine": finding.end[0],
                "endColumn": finding.end[1],
            }
            results.append(
                {
                    "ruleId": finding.code,
                    "ruleIndex": places[finding.code],
                    "level": "warning" if RULES[finding.code].default else "note",
                    "message": {"text": text},
                    "locations": [_location(finding.place.file, region)],
                }
            )
    notices = [
        {
            "level": "error",
            "message": {"text": report.error},
            "locations": [
                _location(
                    report.path,
                    {"startLine": report.line, "startColumn": max(1, report.column)}
                    if report.line
                    else None,
                )
            ],
        }
        for report in reports
        if report.error
    ]
    run = {
        "tool": {"driver": {"name": "retrograd lint", "version": _version(), "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {"executionSuccessful": not notices, "toolExecutionNotifications": notices}
        ],
        "results": results,
    }
    return json.dumps({"$schema": SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _version() -> str:
    try:
        return importlib.metadata.version("retrograd")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout
        return "0"


def _location(path: str, region: dict[str, int] | None) -> dict[str, object]:
    uri = urllib.parse.quote(Path(path).as_posix())
    if Path(path).is_absolute():
        uri = "file://" + uri
    place: dict[str, object] = {"artifactLocation": {"uri": uri}}
    if region is not None:
        place["region"] = region
    return {"physicalLocation": place}
