"""Which way attention is computed: there is one, so every choice gives the same numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum


class SDPBackend(IntEnum):
    """The ways in which PyTorch computes attention."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __repr__(self) -> str:
        return f"<SDPBackend.{self.name}: {self.value}>"

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[dict[str, object]]:
    """The context in which attention is computed in one of some ways.

    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     y = torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 2, 3)] * 3)
    """
    chosen = list(backends) if isinstance(backends, Sequence) else [backends]
    if not all(isinstance(way, SDPBackend) for way in chosen):
        raise AssertionError(
            "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
            f"{type(backends).__name__}"
        )
    yield {}
