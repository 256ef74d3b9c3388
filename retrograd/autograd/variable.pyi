"""`Variable`, the old name of a tensor with history.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.ops.making.legacy import Variable as Variable
from retrograd.ops.making.legacy import VariableMeta as VariableMeta
