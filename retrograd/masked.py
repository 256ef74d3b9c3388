"""Masked tensors: not there. Ordinary tensors with `where` or `masked_fill` say the same."""

from typing import Any

from retrograd.compat.marks import unsupported, unsupported_class
from retrograd.namespaces import missing

_WHY = "there are no masked tensors; use masked_fill or where, and reduce the result"
_FUNCTIONS = (
    *("amax", "amin", "argmax", "argmin", "as_masked_tensor", "cumprod", "cumsum"),
    *("is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "masked_tensor", "mean"),
    *("median", "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var"),
)
__all__ = [*_FUNCTIONS, "MaskedTensor"]

MaskedTensor = unsupported_class("torch.masked.MaskedTensor", _WHY)
globals().update({name: unsupported(f"torch.masked.{name}", _WHY) for name in _FUNCTIONS})


def __getattr__(name: str) -> Any:
    raise missing(__name__, name, globals())
