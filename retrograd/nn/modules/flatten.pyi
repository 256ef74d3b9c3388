"""What PyTorch has in ``torch.nn.modules.flatten``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.flatten import Flatten as Flatten
from retrograd.nn.flatten import Unflatten as Unflatten
