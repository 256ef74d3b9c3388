"""Whether new memory is filled in deterministic programs: remembered, it is not filled.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


fill_uninitialized_memory: bool
