"""A module of PyTorch's where names of the package are written.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.distributed.checkpoint import LoadPlan as LoadPlan
from retrograd.distributed.checkpoint import LoadPlanner as LoadPlanner
from retrograd.distributed.checkpoint import SavePlan as SavePlan
from retrograd.distributed.checkpoint import SavePlanner as SavePlanner
