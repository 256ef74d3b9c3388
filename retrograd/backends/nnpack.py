"""NNPACK: absent. Its setting can be set, and changes nothing here."""

from __future__ import annotations

from typing import Any

from retrograd.backends.remembered import switches
from retrograd.compat.marks import differs
from retrograd.namespaces import missing

enabled = True

set_flags, flags = switches(globals(), enabled=False)


@differs("False: convolutions are this library's own")
def is_available() -> bool:
    """Whether NNPACK is used: no."""
    return False


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
