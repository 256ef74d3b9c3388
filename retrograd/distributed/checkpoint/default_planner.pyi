"""A module of PyTorch's where names of the package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.checkpoint import DefaultLoadPlanner as DefaultLoadPlanner
from retrograd.distributed.checkpoint import DefaultSavePlanner as DefaultSavePlanner
