"""Operators that a program registers by name: `torch.library` and `torch.ops`."""
