"""Sparse tensors: by coordinates (`torch.sparse_coo`), compressed by rows or columns (`sparse_csr`,

Written by ``python -m retrograd.compat.stubs``.
"""
# fmt: off
# ruff: noqa

from retrograd.sparse.products import sparse_addmm
from retrograd.sparse.products import sparse_mm
from retrograd.sparse.reductions import sparse_sum

addmm = sparse_addmm
from retrograd.sparse.checking import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from retrograd.sparse.reductions import log_softmax as log_softmax
mm = sparse_mm
from retrograd.sparse.reductions import softmax as softmax
sum = sparse_sum
