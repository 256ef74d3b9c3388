"""Linear algebra: norms, products, decompositions, solvers."""

from retrograd import ops as _ops  # noqa: F401  (registers what is published below)
from retrograd.namespaces import from_table, published
from retrograd.ops.registry import PUBLIC

globals().update(published(PUBLIC.get("linalg", {}), __name__))

from_table(__name__)
