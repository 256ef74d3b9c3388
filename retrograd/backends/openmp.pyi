"""OpenMP: NumPy chooses its own threads.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def is_available(*args: object, **options: object) -> bool: 'Whether this library was built with OpenMP: no.'
