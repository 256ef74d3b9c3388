"""A module of PyTorch's where names of the package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.checkpoint import load_sharded_optimizer_state_dict as load_sharded_optimizer_state_dict
