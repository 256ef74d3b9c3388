"""The CPU's instructions.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.namespaces.told import get_cpu_capability as get_cpu_capability
