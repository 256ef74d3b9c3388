"""Programs written for PyTorch, run on retrograd: who answers when they import torch."""
