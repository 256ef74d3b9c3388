"""What PyTorch has in ``torch.nn.modules.adaptive``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.adaptive import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from retrograd.nn.adaptive import _ASMoutput as _ASMoutput
