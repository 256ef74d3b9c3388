"""The module of PyTorch's where `torch.Tensor` is written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.tensor import Tensor as Tensor
