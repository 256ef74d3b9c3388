"""Sparse tensors: by coordinates (`torch.sparse_coo`), compressed by rows or columns (`sparse_csr`,
`sparse_csc`).

As far as graph networks and embeddings with sparse gradients need them. What is missing raises and
says so; nothing dense computes with a sparse tensor by mistake (see `engine.sparse_array`).

>>> import retrograd as torch
>>> edges = torch.sparse_coo_tensor([[0, 1, 1], [1, 0, 2]], [1.0, 2.0, 3.0], (3, 3))
>>> edges @ torch.ones(3, 1)
tensor([[1.],
        [5.],
        [0.]])

Names are imported when they are asked for.
"""

from retrograd.namespaces import on_first_use

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "sum"]

__getattr__ = on_first_use(
    __name__,
    {
        "checking": "check_sparse_tensor_invariants",
        "construction": """
            BFloat16Tensor BoolTensor ByteTensor CharTensor DoubleTensor FloatTensor HalfTensor
            IntTensor LongTensor ShortTensor
        """,
        "products": "addmm=sparse_addmm mm=sparse_mm",
        "reductions": "log_softmax softmax sum=sparse_sum",
    },
)[1]
