"""A module of PyTorch's where names of the package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.checkpoint import async_save as async_save
from retrograd.distributed.checkpoint import save as save
from retrograd.distributed.checkpoint import save_state_dict as save_state_dict
