"""MKL: not asked for. Which linear algebra NumPy brings is its own affair.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


VERBOSE_OFF: int
VERBOSE_ON: int
def is_available(*args: object, **options: object) -> bool: 'Whether this library was built with MKL: no.'
from retrograd.namespaces.idle import verbose as verbose
