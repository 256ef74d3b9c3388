"""What has a state that can be kept, as a type."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Stateful(Protocol):
    """An object whose state is taken with `state_dict` and given back with `load_state_dict`."""

    def state_dict(self) -> dict[str, Any]:
        """What there is to keep."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take back what was kept."""
        ...
