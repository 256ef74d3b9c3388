"""Wrong calls of public functions on PyTorch and on retrograd: what is refused, and in which words."""
