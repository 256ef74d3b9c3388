"""What a process has begun in a group, remembered for the time when something does not end."""

from __future__ import annotations

from collections import deque
from types import CodeType
from typing import TYPE_CHECKING

from retrograd.distributed.verdicts import CallFacts, MessageFacts
from retrograd.lifecycle.site import CallSite

if TYPE_CHECKING:
    from retrograd.distributed.group import ProcessGroup

_KEPT = 64


class Call:
    """An exchange of all processes that was begun, and where."""

    __slots__ = ("_site", "agreed", "detail", "group", "name", "number", "over")

    def __init__(
        self,
        group: ProcessGroup,
        number: int,
        name: str,
        detail: str,
        agreed: str,
        site: tuple[CodeType | None, int],
    ) -> None:
        self.group = group
        self.number = number
        self.name = name
        self.detail = detail
        self.agreed = agreed
        self.over = False
        self._site = site

    def facts(self) -> CallFacts:
        """The same, for other processes."""
        return {
            "number": self.number,
            "name": self.name,
            "detail": self.detail,
            "agreed": self.agreed,
            "where": placed(self._site),
            "over": self.over,
        }


class Message:
    """A message that was begun, and where."""

    __slots__ = ("_site", "detail", "group", "other", "over", "size", "tag", "way")

    def __init__(
        self,
        group: ProcessGroup,
        way: str,
        other: int | None,
        tag: int,
        size: int,
        detail: str,
        site: tuple[CodeType | None, int],
    ) -> None:
        self.group = group
        self.way = way
        self.other = other
        self.tag = tag
        self.size = size
        self.detail = detail
        self.over = False
        self._site = site

    def facts(self) -> MessageFacts:
        """The same, for other processes."""
        return {
            "way": self.way,
            "other": self.other,
            "tag": self.tag,
            "size": self.size,
            "detail": self.detail,
            "where": placed(self._site),
        }


Begun = Call | Message


def placed(site: tuple[CodeType | None, int]) -> str:
    """A place in a program as ``file:line``."""
    found = CallSite(*site)
    return f"{found.file}:{found.line}" if found else "an unknown line"


class Recent:
    """The last exchanges of a group, and its messages that are under way."""

    def __init__(self) -> None:
        self.calls: deque[Call] = deque(maxlen=_KEPT)
        self.messages: dict[int, Message] = {}

    def facts(self) -> tuple[list[CallFacts], list[MessageFacts]]:
        """The same, for other processes; asked from another thread than those that write it."""
        calls = [call.facts() for call in tuple(self.calls)]
        return calls, [message.facts() for message in tuple(self.messages.values())]
