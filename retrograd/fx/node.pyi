"""Graphs taken from Python code, under the name of PyTorch's module: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


Argument: object
from retrograd.fx import Node as Node
Target: object
from retrograd.fx import has_side_effect as has_side_effect
from retrograd.fx import map_arg as map_arg
