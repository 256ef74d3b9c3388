"""cuSPARSELt: absent.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa


def get_max_alg_id(*args: object, **options: object) -> int | None: 'The number of its algorithms: None.'
def is_available(*args: object, **options: object) -> bool: 'Whether cuSPARSELt is used: no.'
def version(*args: object, **options: object) -> int | None: 'The version of cuSPARSELt: None.'
