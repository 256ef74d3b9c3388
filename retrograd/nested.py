"""Nested tensors: not there. `nn.utils.rnn` has padding and packing for sequences."""

from typing import Any

from retrograd.compat.marks import unsupported
from retrograd.namespaces import missing

_WHY = "there are no nested tensors; use nn.utils.rnn.pad_sequence or pack_sequence"
_FUNCTIONS = (
    *("as_nested_tensor", "masked_select", "narrow", "nested_tensor"),
    *("nested_tensor_from_jagged", "to_padded_tensor"),
)
__all__ = [*_FUNCTIONS]

globals().update({name: unsupported(f"torch.nested.{name}", _WHY) for name in _FUNCTIONS})


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
