"""Faster attention in inference: can be switched, and is computed in one way here."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing

_fastpath = [True]


def get_fastpath_enabled() -> bool:
    """What `set_fastpath_enabled` was last told."""
    return _fastpath[0]


def set_fastpath_enabled(value: bool) -> None:
    """Note whether attention may take another way in inference."""
    _fastpath[0] = value


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
