"""The order of products in `einsum`: not chosen by a package here, from left to right."""

from __future__ import annotations

from typing import Any

from retrograd.backends.remembered import switches
from retrograd.namespaces import missing

enabled = False
strategy: str | None = None

set_flags, flags = switches(globals(), enabled=None, strategy=None)


def is_available() -> bool:
    """Whether the package opt_einsum is used: no."""
    return False


def get_opt_einsum() -> None:
    """The package opt_einsum, which is not used: None."""
    return None


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
