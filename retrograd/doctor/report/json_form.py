"""The report for programs: one JSON document."""

from __future__ import annotations

import os

from retrograd.doctor.result import Result


def document(result: Result) -> dict[str, object]:
    """The whole report. Files are absolute paths, lines count from 1."""
    return {
        "version": 1,
        "script": result.script,
        "engine": result.engine,
        "status": result.verdict,
        "exit_status": result.status,
        "error": result.error,
        "seconds": round(result.seconds, 3),
        "diagnoses": [_absolute(diagnosis.to_json()) for diagnosis in result.diagnoses],
        "failures": result.failures,
        "unseen": result.unseen,
        "effects": result.effects,
    }


def _absolute(value: object) -> object:
    """The same data with every `file` an absolute path."""
    if isinstance(value, dict):
        return {
            key: os.path.abspath(inner)
            if key == "file" and isinstance(inner, str) and not inner.startswith("<")
            else _absolute(inner)
            for key, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [_absolute(inner) for inner in value]
    return value
