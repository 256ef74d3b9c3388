"""OpenMP: NumPy chooses its own threads."""

from __future__ import annotations

from typing import Any

from retrograd.compat.marks import differs
from retrograd.namespaces import missing


@differs("False: NumPy brings its own linear algebra")
def is_available() -> bool:
    """Whether this library was built with OpenMP: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
