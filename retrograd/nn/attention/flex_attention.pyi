"""Attention whose scores a function changes: refused.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import Any
from typing import NoReturn
from typing_extensions import deprecated

class AuxOutput:
    @deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class AuxRequest:
    @deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class BlockMask:
    @deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
class FlexKernelOptions:
    @deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
    def __init__(self, *args: object, **options: object) -> None: ...
    def __getattr__(self, name: str) -> Any: ...  # there is no instance
_DEFAULT_SPARSE_BLOCK_SIZE: int
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def and_masks(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def create_block_mask(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def create_mask(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def create_nested_block_mask(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def flex_attention(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def noop_mask(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: scores are not changed by a function; give nn.functional.scaled_dot_product_attention a mask, or a tensor that is added to the scores.')
def or_masks(*args: object, **options: object) -> NoReturn: ...
