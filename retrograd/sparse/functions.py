"""Functions of `torch` that are about sparse tensors alone: `spmm`, `hspmm` and their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from retrograd.ops.registry import RECORDED, composite, function_only
from retrograd.sparse.later import Later
from retrograd.tensor import Tensor

if TYPE_CHECKING:
    from retrograd.sparse import products
else:
    products = Later("products")


@function_only()
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`mm`, under the name that it has for sparse matrices.

    >>> torch.spmm(torch.eye(2).to_sparse(), torch.ones(2, 1))
    tensor([[1.],
            [1.]])
    """
    return RECORDED.mm(input, mat2)


@function_only()
def dsmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`mm`, under an old name."""
    return RECORDED.mm(input, mat2)


@function_only()
def saddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: complex = 1, alpha: complex = 1
) -> Tensor:
    """`addmm`, under an old name."""
    return RECORDED.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@function_only()
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix: sparse in its rows, which are dense.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 2)).dense_dim()
    1
    """
    return products.hspmm(mat1, mat2)


@function_only()
def hsmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """`hspmm`, under an old name."""
    return products.hspmm(mat1, mat2)


@composite()
def smm(input: Tensor, mat: Tensor) -> Tensor:
    """The product of a sparse and a dense matrix, as a sparse one.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).to_dense()
    tensor([[1.],
            [1.]])
    """
    return products.smm(input, mat)
