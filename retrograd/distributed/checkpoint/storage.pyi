"""A module of PyTorch's where names of the package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.checkpoint import StorageReader as StorageReader
from retrograd.distributed.checkpoint import StorageWriter as StorageWriter
