"""What PyTorch has in ``torch.nn.modules.dropout``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.dropout import AlphaDropout as AlphaDropout
from retrograd.nn.dropout import Dropout as Dropout
from retrograd.nn.dropout import Dropout1d as Dropout1d
from retrograd.nn.dropout import Dropout2d as Dropout2d
from retrograd.nn.dropout import Dropout3d as Dropout3d
from retrograd.nn.dropout import FeatureAlphaDropout as FeatureAlphaDropout
from retrograd.nn.dropout import _DropoutNd as _DropoutNd
