"""Tensors without values, of any device: there are none; those of ``device='meta'`` are.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing_extensions import deprecated

class DataDependentOutputException:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class DynamicOutputShapeException:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FakeTensor:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FakeTensorConverter:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FakeTensorMode:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class UnsupportedFakeTensorException:
    @deprecated("Not supported: there are no tensors without values but those of device='meta'.")
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
def is_fake(*args: object, **options: object) -> bool: 'Whether a tensor has no values: no.'
