"""Tensors without values: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd._subclasses.fake_tensor import DataDependentOutputException as DataDependentOutputException
from retrograd._subclasses.fake_tensor import DynamicOutputShapeException as DynamicOutputShapeException
from retrograd._subclasses.fake_tensor import FakeTensor as FakeTensor
from retrograd._subclasses.fake_tensor import FakeTensorConverter as FakeTensorConverter
from retrograd._subclasses.fake_tensor import FakeTensorMode as FakeTensorMode
from retrograd._subclasses.fake_tensor import UnsupportedFakeTensorException as UnsupportedFakeTensorException
from retrograd._subclasses import fake_tensor as fake_tensor
from retrograd._subclasses.fake_tensor import is_fake as is_fake
