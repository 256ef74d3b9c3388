"""MIOpen: absent. Its setting can be set and read, and changes nothing here."""

from __future__ import annotations

from typing import Any

from retrograd.backends.remembered import switches
from retrograd.namespaces import missing

immediate = False

set_flags, flags = switches(globals(), immediate=False)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
