"""The place of PyTorch's code generator: only its settings, which change nothing here."""

from typing import Any

from retrograd._inductor import config as config
from retrograd.namespaces import missing


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
