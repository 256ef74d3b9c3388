"""Functions of neural networks: activations, convolutions, losses and so on."""

from typing import Any

from retrograd import ops as _ops  # noqa: F401  (registers what is published below)
from retrograd.namespaces import missing, published
from retrograd.ops.registry import PUBLIC

globals().update(published(PUBLIC.get("nn.functional", {}), __name__))


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
