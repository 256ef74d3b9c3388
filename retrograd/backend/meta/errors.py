"""PyTorch's errors for ops whose results depend on elements."""

from __future__ import annotations

_NONZERO = (
    "The register_meta function for torch.nonzero() raises unimplemented by default, as a correct "
    "data-independent implementation does not exist. This implementation returns a fake value, "
    "assuming all elements of the tensor are non-zero. To enable this registration, please set "
    "'torch.fx.experimental._config.meta_nonzero_assume_all_nonzero' to True."
)
# Ops that are made of `nonzero` there.
_BY_NONZERO = frozenset(("nonzero", "index", "_distinct"))
# What PyTorch calls ops that have another name here.
_THEIRS = {
    "_unique_consecutive": "unique_consecutive",
    "_unique_dim": "unique_dim",
    "_ctc_loss": "_ctc_loss.Tensor",
    "linalg_lstsq": "linalg_lstsq.out",
}
_NO_KERNEL = (
    "aten::{name}: attempted to run this operator with Meta tensors, but there was no fake impl or "
    "Meta kernel registered. You may have run into this message while using an operator with PT2 "
    "compilation APIs (torch.compile/torch.export); in order to use this operator with those APIs "
    "you'll need to add a fake impl. Please see the following for next steps:  "
    "https://pytorch.org/tutorials/advanced/custom_ops_landing_page.html"
)


def no_kernel(name: str) -> NotImplementedError:
    """PyTorch's error for an op whose result depends on elements."""
    if name in _BY_NONZERO:
        return NotImplementedError(_NONZERO)
    return NotImplementedError(_NO_KERNEL.format(name=_THEIRS.get(name, name)))
