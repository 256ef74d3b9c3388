"""The older place of `torch.distributed.tensor.experimental`.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.tensor.experimental import context_parallel as context_parallel
from retrograd.distributed.tensor.experimental import implicit_replication as implicit_replication
from retrograd.distributed.tensor.experimental import local_map as local_map
from retrograd.distributed.tensor.experimental import register_sharding as register_sharding
