"""Discrete Fourier transforms."""

from typing import Any

from retrograd import ops as _ops  # noqa: F401  (registers what is published below)
from retrograd.namespaces import missing
from retrograd.ops.registry import PUBLIC

globals().update(PUBLIC.get("fft", {}))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
