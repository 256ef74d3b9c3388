"""Several processes with one model: here there is one, and its group works as a group of one.

>>> import retrograd as torch
>>> torch.distributed.is_available(), torch.distributed.is_initialized()
(True, False)
"""

from retrograd.distributed import collectives as _collectives
from retrograd.distributed import distributed_c10d as distributed_c10d
from retrograd.distributed import group as _group
from retrograd.namespaces import from_table

for _module in (_group, _collectives):
    globals().update({name: getattr(_module, name) for name in _module.__all__})
reduce_op = _group.ReduceOp

from_table(__name__)
