"""Functions that an exporter can follow; nothing is exported here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.ops.making.compiled_part import _reshape_from_tensor
from retrograd.ops.making.compiled_part import _shape_as_tensor

reshape_from_tensor_shape = _reshape_from_tensor
shape_as_tensor = _shape_as_tensor
