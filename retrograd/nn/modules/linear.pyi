"""What PyTorch has in ``torch.nn.modules.linear``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.linear import Bilinear as Bilinear
from retrograd.nn.linear import Identity as Identity
from retrograd.nn.lazy import LazyLinear as LazyLinear
from retrograd.nn.linear import Linear as Linear
from retrograd.nn.attention import NonDynamicallyQuantizableLinear as NonDynamicallyQuantizableLinear
