"""Graphs taken from Python code, under the name of PyTorch's module: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.fx import GraphModule as GraphModule
