"""A group of one process, which needs no engine."""

from __future__ import annotations

from datetime import timedelta

from retrograd.distributed.transports.interface import Flat, Transport

__all__ = ["Alone"]


class Alone(Transport):
    """There is nobody to send to; the exchange of all is with itself."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def send(self, array: Flat, to: int, tag: int) -> None:
        raise RuntimeError(f"there is no process {to} in a group of one")

    def recv(self, array: Flat, source: int | None, tag: int) -> int:
        raise RuntimeError(f"there is no process {source} in a group of one")

    def set_timeout(self, timeout: timedelta) -> None:
        pass

    def close(self) -> None:
        pass
