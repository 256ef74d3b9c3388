"""cuSPARSELt: absent."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing


def is_available() -> bool:
    """Whether cuSPARSELt is used: no."""
    return False


def version() -> None:
    """The version of cuSPARSELt: None."""
    return None


def get_max_alg_id() -> None:
    """The number of its algorithms: None."""
    return None


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
