"""Several modules at once, each on its device."""

from __future__ import annotations

from collections.abc import Sequence

from retrograd.nn.module import Module


def parallel_apply(
    modules: Sequence[Module],
    inputs: Sequence[object],
    kwargs_tup: object = None,
    devices: object = None,
) -> list[object]:
    """Refused, as PyTorch does where there is no accelerator."""
    if len(modules) != len(inputs):
        raise AssertionError(
            f"The number of modules {len(modules)} is not equal to the number of inputs "
            f"{len(inputs)}"
        )
    raise RuntimeError("Cannot access accelerator device when none is available.")
