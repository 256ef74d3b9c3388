"""The array library below the tensors: everything that knows how numbers are stored."""

from retrograd.backend.memory import keep_freed_memory

MEMORY_KEPT = keep_freed_memory()
"""Whether freed blocks stay in the process for reuse; see `backend.memory`."""
