"""Nested tensors: not there. `nn.utils.rnn` has padding and packing for sequences.

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from typing import NoReturn
from typing_extensions import deprecated

@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def as_nested_tensor(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def masked_select(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def narrow(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def nested_tensor(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def nested_tensor_from_jagged(*args: object, **options: object) -> NoReturn: ...
@deprecated('Not supported: there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence.')
def to_padded_tensor(*args: object, **options: object) -> NoReturn: ...
