"""What the library was built with.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


from retrograd.settings import parallel_info as parallel_info
from retrograd.namespaces.build import show as show
