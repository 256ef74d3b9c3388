"""Random numbers: for a given seed, the values of PyTorch's CPU generator, bit for bit."""
