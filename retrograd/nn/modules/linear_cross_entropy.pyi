"""What PyTorch has in ``torch.nn.modules.linear_cross_entropy``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.ops.neural.linear_cross_entropy import linear_cross_entropy as linear_cross_entropy
