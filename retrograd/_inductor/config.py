"""Settings of PyTorch's code generator. They can be set and read, and change nothing here.

>>> import retrograd as torch
>>> torch._inductor.config.coordinate_descent_tuning = True
>>> torch._inductor.config.coordinate_descent_tuning
True
"""

from typing import Any

from retrograd._dynamo.remembered import Group, patcher
from retrograd.namespaces import missing

coordinate_descent_tuning = False
debug = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
fx_graph_cache = True
max_autotune = False
shape_padding = True
cpp = Group()
cuda = Group()
trace = Group()
triton = Group()

patch = patcher(globals())


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
