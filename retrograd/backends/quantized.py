"""Kernels for quantized tensors, of which there are none: the setting is remembered."""

from __future__ import annotations

from typing import Any

from retrograd.namespaces import missing

engine = "none"
supported_engines: list[str] = []


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
