"""What PyTorch has in ``torch.nn.modules.activation``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.activation import CELU as CELU
from retrograd.nn.activation import ELU as ELU
from retrograd.nn.activation import GELU as GELU
from retrograd.nn.activation import GLU as GLU
from retrograd.nn.activation import Hardshrink as Hardshrink
from retrograd.nn.activation import Hardsigmoid as Hardsigmoid
from retrograd.nn.activation import Hardswish as Hardswish
from retrograd.nn.activation import Hardtanh as Hardtanh
from retrograd.nn.activation import LeakyReLU as LeakyReLU
from retrograd.nn.activation import LogSigmoid as LogSigmoid
from retrograd.nn.activation import LogSoftmax as LogSoftmax
from retrograd.nn.activation import Mish as Mish
from retrograd.nn.attention import MultiheadAttention as MultiheadAttention
from retrograd.nn.activation import PReLU as PReLU
from retrograd.nn.activation import RReLU as RReLU
from retrograd.nn.activation import ReLU as ReLU
from retrograd.nn.activation import ReLU6 as ReLU6
from retrograd.nn.activation import SELU as SELU
from retrograd.nn.activation import SiLU as SiLU
from retrograd.nn.activation import Sigmoid as Sigmoid
from retrograd.nn.activation import Softmax as Softmax
from retrograd.nn.activation import Softmax2d as Softmax2d
from retrograd.nn.activation import Softmin as Softmin
from retrograd.nn.activation import Softplus as Softplus
from retrograd.nn.activation import Softshrink as Softshrink
from retrograd.nn.activation import Softsign as Softsign
from retrograd.nn.activation import Tanh as Tanh
from retrograd.nn.activation import Tanhshrink as Tanhshrink
from retrograd.nn.activation import Threshold as Threshold
