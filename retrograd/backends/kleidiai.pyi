"""KleidiAI: absent.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def is_available(*args: object, **options: object) -> bool: 'Whether KleidiAI is used: no.'
