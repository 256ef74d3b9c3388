"""Findings for other programs: JSON, SARIF, and what GitHub and GitLab show beside the code."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import urllib.parse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from .check import Report
from .declare import Finding
from .output import as_concise, statistics
from .rules import RULES

SARIF_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def printed(form: str, reports: Sequence[Report], fixed: Sequence[Finding] = ()) -> str:
    """The findings in a form: concise, json, sarif, github, gitlab."""
    if form == "json":
        return as_json(reports, fixed)
    forms = {
        "concise": as_concise,
        "sarif": as_sarif,
        "github": as_github,
        "gitlab": as_gitlab,
    }
    return forms[form](reports)


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


def as_github(reports: Sequence[Report]) -> str:
    """Commands of a GitHub workflow: each puts a note beside a line.

    >>> as_github([Report("train.py", error="syntax error", line=2, column=1)])
    '::error file=train.py,line=2,col=1::syntax error\\n'
    """
    lines = []
    for report in reports:
        if report.error:
            place = (
                f"file={_property(report.path)},line={report.line or 1},col={report.column or 1}"
            )
            lines.append(f"::error {place}::{_data(report.error)}")
        for finding in report.findings:
            (line, column), (end_line, end_column) = finding.start, finding.end
            place = f"file={_property(finding.place.file)},line={line},col={column}"
            if end_line == line:  # columns count within one line only
                place += f",endLine={end_line},endColumn={end_column}"
            word = "notice" if finding.level == "hint" else "warning"
            text = finding.title + "".join(f"\nhelp: {fix.text}" for fix in finding.fixes)
            lines.append(f"::{word} {place},title={finding.code}::{_data(text)}")
    return "".join(line + "\n" for line in lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_gitlab(reports: Sequence[Report]) -> str:
    """A code quality report of GitLab: a list of issues in the form of CodeClimate."""
    issues = []
    seen: Counter[str] = Counter()
    for report in reports:
        if report.error:
            issues.append(
                _issue(seen, report.path, "error", report.error, report.line or 1, "major")
            )
        for finding in report.findings:
            severity = "info" if finding.level == "hint" else "minor"
            place = (finding.place.file, finding.code, finding.title, finding.start[0])
            issues.append(_issue(seen, *place, severity))
    return json.dumps(issues, indent=2) + "\n"


def _issue(
    seen: Counter[str], path: str, code: str, text: str, line: int, severity: str
) -> dict[str, object]:
    # without the line, so that it is the same issue after lines were added above it
    key = f"{path}:{code}:{text}"
    seen[key] += 1
    return {
        "description": f"{code}: {text}",
        "check_name": code,
        "fingerprint": hashlib.sha256(f"{key}:{seen[key]}".encode()).hexdigest(),
        "severity": severity,
        "location": {"path": Path(path).as_posix(), "lines": {"begin": line}},
    }
