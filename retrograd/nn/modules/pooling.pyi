"""What PyTorch has in ``torch.nn.modules.pooling``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from retrograd.nn.pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from retrograd.nn.pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from retrograd.nn.pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from retrograd.nn.pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from retrograd.nn.pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from retrograd.nn.pooling import AvgPool1d as AvgPool1d
from retrograd.nn.pooling import AvgPool2d as AvgPool2d
from retrograd.nn.pooling import AvgPool3d as AvgPool3d
from retrograd.nn.fractional_pooling import FractionalMaxPool2d as FractionalMaxPool2d
from retrograd.nn.fractional_pooling import FractionalMaxPool3d as FractionalMaxPool3d
from retrograd.nn.pooling import LPPool1d as LPPool1d
from retrograd.nn.pooling import LPPool2d as LPPool2d
from retrograd.nn.pooling import LPPool3d as LPPool3d
from retrograd.nn.pooling import MaxPool1d as MaxPool1d
from retrograd.nn.pooling import MaxPool2d as MaxPool2d
from retrograd.nn.pooling import MaxPool3d as MaxPool3d
from retrograd.nn.pooling import MaxUnpool1d as MaxUnpool1d
from retrograd.nn.pooling import MaxUnpool2d as MaxUnpool2d
from retrograd.nn.pooling import MaxUnpool3d as MaxUnpool3d
from retrograd.nn.pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from retrograd.nn.pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from retrograd.nn.pooling import _AvgPoolNd as _AvgPoolNd
from retrograd.nn.pooling import _LPPoolNd as _LPPoolNd
from retrograd.nn.pooling import _MaxPoolNd as _MaxPoolNd
from retrograd.nn.pooling import _MaxUnpoolNd as _MaxUnpoolNd
