"""Functions of neural networks: activations, convolutions, losses and so on."""

from retrograd import ops as _ops  # noqa: F401  (registers what is published below)
from retrograd.namespaces import from_table, published
from retrograd.ops.registry import PUBLIC

globals().update(published(PUBLIC.get("nn.functional", {}), __name__))

from_table(__name__)
