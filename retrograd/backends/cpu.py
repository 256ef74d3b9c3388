"""The CPU's instructions."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing


def get_cpu_capability() -> str:
    """The instructions that kernels were compiled for: "DEFAULT", NumPy chooses its own."""
    return "DEFAULT"


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
