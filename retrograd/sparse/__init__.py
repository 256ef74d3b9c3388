"""Sparse tensors: by coordinates (`torch.sparse_coo`) and compressed by rows (`torch.sparse_csr`).

As far as graph networks and embeddings with sparse gradients need them. What is missing raises and
says so; nothing dense computes with a sparse tensor by mistake (see `retrograd.sparse.array`).

>>> import retrograd as torch
>>> edges = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], [1.0, 2.0, 3.0], (3, 3))
>>> edges @ torch.ones(3, 1)
tensor([[1.],
        [5.],
        [0.]])

Names are imported when they are asked for: the engine imports `sparse.array` before there are ops.
"""

from typing import Any as _Any

from retrograd.namespaces import missing as _missing

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sum"]

_PLACES = {
    "addmm": ("products", "sparse_addmm"),
    "check_sparse_tensor_invariants": ("checking", "check_sparse_tensor_invariants"),
    "log_softmax": ("reductions", "log_softmax"),
    "mm": ("products", "sparse_mm"),
    "softmax": ("reductions", "softmax"),
    "sum": ("reductions", "sparse_sum"),
}


def __getattr__(name: str) -> _Any:
    from importlib import import_module

    if name in _PLACES:
        module, own_name = _PLACES[name]
        found = getattr(import_module(f"retrograd.sparse.{module}"), own_name)
    elif name.endswith("Tensor"):
        found = import_module("retrograd.sparse.construction").LEGACY_TYPES.get(name)
    else:
        found = None
    if found is None:
        raise _missing(__name__, name, __all__)
    globals()[name] = found
    return found
