"""KleidiAI: absent."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing


def is_available() -> bool:
    """Whether KleidiAI is used: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
