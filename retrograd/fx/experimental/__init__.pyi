"""Newer parts of graphs taken from Python code: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.fx.experimental import proxy_tensor as proxy_tensor
from retrograd.fx.experimental import symbolic_shapes as symbolic_shapes
