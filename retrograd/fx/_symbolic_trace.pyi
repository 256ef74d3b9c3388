"""Graphs taken from Python code, under the name of PyTorch's module: there are none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.fx import Tracer as Tracer
def is_fx_symbolic_tracing(*args: object, **options: object) -> bool: 'Whether a graph is being taken: no.'
def is_fx_tracing(*args: object, **options: object) -> bool: 'Whether a graph is being taken: no.'
from retrograd.fx import symbolic_trace as symbolic_trace
from retrograd.fx import wrap as wrap
