"""Random tensors: the functions that draw them, and the in-place forms."""
