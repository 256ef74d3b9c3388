"""What PyTorch has in ``torch.nn.modules.fold``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.fold import Fold as Fold
from retrograd.nn.fold import Unfold as Unfold
