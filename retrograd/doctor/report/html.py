"""The report as a web page."""

from __future__ import annotations

from retrograd.doctor.result import Result


def page(result: Result) -> str:
    """One page."""
    raise NotImplementedError
