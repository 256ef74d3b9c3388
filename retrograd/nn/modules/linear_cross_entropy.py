"""PyTorch's ``torch.nn.modules.linear_cross_entropy`` computes in parts; here is what it is for."""

from retrograd.ops.neural.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
