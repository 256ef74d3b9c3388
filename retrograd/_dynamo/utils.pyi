"""Helpers of PyTorch's compiler: there is none.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def is_compile_supported(*args: object, **options: object) -> bool: 'Whether models can be compiled for a device: no.'
