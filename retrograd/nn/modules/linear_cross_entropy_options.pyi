"""What PyTorch has in ``torch.nn.modules.linear_cross_entropy_options``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.linear_cross_entropy import LinearCrossEntropyOptions as LinearCrossEntropyOptions
