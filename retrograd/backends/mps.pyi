"""Metal of Apple's computers: absent.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there is no Metal device.')
def get_core_count(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there is no Metal device.')
def get_name(*args: object, **options: object) -> NoReturn: ...
def is_available(*args: object, **options: object) -> bool: 'Whether a Metal device can be used: no.'
def is_built(*args: object, **options: object) -> bool: 'Whether support for Metal was compiled in: no.'
from retrograd.namespaces.idle import is_macos13_or_newer as is_macos13_or_newer
from retrograd.namespaces.idle import is_macos_or_newer as is_macos_or_newer
