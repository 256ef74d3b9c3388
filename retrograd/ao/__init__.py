"""Models made smaller: what there was to name is in `torch.ao.quantization`, and refuses."""

from importlib import import_module
from typing import Any

from retrograd.namespaces import missing


def __getattr__(name: str) -> Any:
    if name == "quantization":
        return import_module("retrograd.ao.quantization")
    raise missing(__name__, name, globals())
