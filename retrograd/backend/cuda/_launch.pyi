"""Launches on a CUDA device, in C."""

from collections.abc import Callable
from typing import Any

SOURCES: str

def given_driver(address: int, /) -> None: ...
def launch(
    function: int, blocks: int, threads: int, stream: int, arguments: tuple[Any, ...], /
) -> int: ...

class Caller:
    plans: dict[Any, Any]
    general: Callable[..., Any]
    def __init__(
        self,
        plan: Callable[..., Any],
        general: Callable[..., Any],
        array: type[Any],
        stream: Callable[[], int],
        /,
    ) -> None: ...
    def __call__(self, xp: Any, /, *operands: Any, **options: Any) -> Any: ...
