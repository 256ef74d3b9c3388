"""What reading asks of the one who records, and what its parts ask of each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from retrograd.replay.reading.frames import Frame
from retrograd.replay.reading.surroundings import Surroundings
from retrograd.tensor import Tensor


class Recorder(Protocol):
    """Where the operations of a step go while it is read."""

    def adopt(self, tensor: Tensor, place: int | None = None) -> None:
        """A tensor from outside is used: always this one, or number `place` of what a check gives.

        May be said more than once.
        """

    def leaf(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a function of the library as part of the recording."""

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call what has a state of its own, now and at each replay; ends a segment."""

    def item(self, tensor: Tensor) -> Any:
        """An object for the number in a tensor, which is its `value`."""

    def question(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call what asks about elements of tensors from outside, now and never again."""

    def refuse(self, reason: str) -> None:
        """No more is recorded; everything goes on with the right values."""


@dataclass(slots=True, eq=False)
class Number:
    """A number that was read from a tensor."""

    value: Any
    tensor: Tensor


class Plainly:
    """A recorder that records nothing: the step just runs."""

    def adopt(self, tensor: Tensor, place: int | None = None) -> None: ...
    def refuse(self, reason: str) -> None: ...

    def leaf(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    call = question = leaf

    def item(self, tensor: Tensor) -> Any:
        return Number(tensor.item(), tensor)


@dataclass(frozen=True)
class Refusal:
    """Why a step is not replayed, and the line that decides it."""

    reason: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


class Base:
    """The parts of a reader, as they see each other."""

    recorder: Recorder
    outside: Surroundings
    numbers: dict[int, Any]  # by identity of a number that was read, what the recorder gave
    effects: list[tuple[Any, tuple[Any, ...]]]
    refusal: Refusal | None
    ran_backward: bool  # or anything else that may have changed gradients
    frame: Frame  # the innermost
    inside: int  # how many leaves are running

    store: Callable[[Any, Any, Frame], None]
    make_function: Callable[[Any, str, Frame], Any]
    refuse: Callable[..., None]
    call: Callable[..., Any]
    leaf: Callable[..., Any]
    in_call: Callable[..., Any]
    plainly: Callable[..., Any]
