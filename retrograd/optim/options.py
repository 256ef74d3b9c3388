"""Options that several optimizers share."""

from __future__ import annotations

from typing import Any

from retrograd.ops import errors


def reject_unsupported(optimizer: str, **options: Any) -> None:
    """Raise for options that would change the result and are not implemented.

    `foreach` and `fused` choose an implementation in PyTorch, not a result; they are accepted.
    """
    for name, value in options.items():
        if value:
            raise errors.unsupported(f"{optimizer}({name}={value})")
