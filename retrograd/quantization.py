"""The older place of `torch.ao.quantization`: the same names, refused."""

from typing import Any

from retrograd.ao.quantization import _REFUSED
from retrograd.namespaces import missing

globals().update(_REFUSED)


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
