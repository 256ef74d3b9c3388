"""How a call of an op runs: generated functions, the general path, modes, PyTorch's names."""
