"""What PyTorch has in ``torch.nn.modules.padding``.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.nn.padding import CircularPad1d as CircularPad1d
from retrograd.nn.padding import CircularPad2d as CircularPad2d
from retrograd.nn.padding import CircularPad3d as CircularPad3d
from retrograd.nn.padding import ConstantPad1d as ConstantPad1d
from retrograd.nn.padding import ConstantPad2d as ConstantPad2d
from retrograd.nn.padding import ConstantPad3d as ConstantPad3d
from retrograd.nn.padding import ReflectionPad1d as ReflectionPad1d
from retrograd.nn.padding import ReflectionPad2d as ReflectionPad2d
from retrograd.nn.padding import ReflectionPad3d as ReflectionPad3d
from retrograd.nn.padding import ReplicationPad1d as ReplicationPad1d
from retrograd.nn.padding import ReplicationPad2d as ReplicationPad2d
from retrograd.nn.padding import ReplicationPad3d as ReplicationPad3d
from retrograd.nn.padding import ZeroPad1d as ZeroPad1d
from retrograd.nn.padding import ZeroPad2d as ZeroPad2d
from retrograd.nn.padding import ZeroPad3d as ZeroPad3d
from retrograd.nn.padding import _CircularPadNd as _CircularPadNd
from retrograd.nn.padding import _ConstantPadNd as _ConstantPadNd
from retrograd.nn.padding import _ReflectionPadNd as _ReflectionPadNd
from retrograd.nn.padding import _ReplicationPadNd as _ReplicationPadNd
