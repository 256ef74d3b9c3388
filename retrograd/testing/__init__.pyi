"""Tools for testing ops and models: comparisons, random tensors, samples of every op.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.testing.comparison import assert_allclose as assert_allclose
from retrograd.testing.comparison import assert_close as assert_close
from retrograd.testing.tensors import make_tensor as make_tensor
