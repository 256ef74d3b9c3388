"""Settings of the compiler. They can be set and read, and change nothing here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from collections.abc import Iterator
from contextlib import contextmanager

dynamic_shapes: bool
dynamic_sources: str
force_disable_caches: bool
job_id: str | None
@contextmanager
def patch(
    changes: str | dict[str, object] | None = None,
    value: object = None,
    /,
    **named: object,
) -> Iterator[None]: ...
unbacked_sources: str
