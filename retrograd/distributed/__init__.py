"""Several processes that train one model: groups, what they exchange, and how they meet.

>>> import retrograd as torch
>>> torch.distributed.is_available(), torch.distributed.is_initialized()
(True, False)
"""

from importlib import import_module as _import

from retrograd.distributed import distributed_c10d as distributed_c10d
from retrograd.namespaces import from_table

for _name in distributed_c10d.PLACES:
    _module = _import(f"retrograd.distributed.{_name}")
    globals().update({name: getattr(_module, name) for name in _module.__all__})
reduce_op = distributed_c10d.ReduceOp

from_table(__name__)
