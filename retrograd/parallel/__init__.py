"""What several processes share of a model: its files and the states of its optimizers.

The names are PyTorch's: `torch.distributed.checkpoint`, `torch.distributed.optim`.
"""
