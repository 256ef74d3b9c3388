"""Utilities: checkpointing, data loading."""

from typing import Any

from retrograd.namespaces import missing
from retrograd.utils import checkpoint as checkpoint
from retrograd.utils import data as data
from retrograd.utils import hooks as hooks


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
