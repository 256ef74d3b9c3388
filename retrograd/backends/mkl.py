"""MKL: not asked for. Which linear algebra NumPy brings is its own affair."""

from __future__ import annotations

from typing import Any

from retrograd.compat.marks import differs
from retrograd.namespaces import missing

VERBOSE_OFF = 0
VERBOSE_ON = 1


@differs("False: NumPy brings its own linear algebra")
def is_available() -> bool:
    """Whether this library was built with MKL: no."""
    return False


class verbose:
    """The context in which the library tells what it computes: nothing is told."""

    def __init__(self, enable: int) -> None:
        self.enable = enable

    def __enter__(self) -> verbose:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
