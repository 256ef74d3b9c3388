"""The CPU's instructions.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def get_cpu_capability(*args: object, **options: object) -> str: 'The instructions of the kernels: "DEFAULT", NumPy chooses its own.'
