"""Faster attention in inference: can be switched, and is computed in one way here.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.namespaces.told import get_fastpath_enabled as get_fastpath_enabled
from retrograd.namespaces.told import set_fastpath_enabled as set_fastpath_enabled
