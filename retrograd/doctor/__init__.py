"""The doctor: runs a PyTorch program, explains its autograd mistakes, and tries its own advice."""
