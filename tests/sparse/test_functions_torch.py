"""Functions of sparse tensors beside PyTorch: layouts, places, values, nodes, errors."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sparse.pairs import both

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Setting:
    """The operands of the expressions below: u is not coalesced, c is, h is hybrid, r is CSR."""

    def __init__(self, lib: Any) -> None:
        self.torch = lib
        self.I = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
        self.V = lib.tensor([3.0, 4.0, 5.0, 1.0])
        self.u = lib.sparse_coo_tensor(self.I, self.V, (2, 3))
        self.c = self.u.coalesce()
        self.d = lib.arange(6.0).reshape(2, 3)
        self.m = lib.arange(6.0).reshape(3, 2)
        rows = lib.tensor([[0, 1, 1]])
        self.h = lib.sparse_coo_tensor(rows, lib.arange(6.0).reshape(3, 2), (2, 2))
        self.r = self.c.to_sparse_csr()
        self.n = lib.sparse_coo_tensor(self.I, self.V.long(), (2, 3))


EXPRESSIONS = """
u
c
h
r
n
u * u
u * c
c * u
c * c
u * d
c * d
d * u
u + u
c + c
c - c
u * 2
2 * u
u * torch.tensor(2.0)
u / 2
u / torch.tensor(2.0)
-u
c * 2
u ** 2
u ** 0
2 ** u
u.abs()
u.relu()
u.sqrt()
u.sin()
u.tanh()
u.log1p()
u.sign()
u.isnan()
u.exp()
u.cos()
u.sigmoid()
u.reciprocal()
u == u
u == d
u > 0
u != 0
u.t()
c.t()
c.t().t()
u.T
u.mT
u.transpose(0, 1)
u.permute(1, 0)
torch.cat([u, c])
torch.cat([c, c], 1)
torch.cat([u, d])
torch.stack([c, c], 1)
torch.stack([u, u])
c.unsqueeze(1)
c.unsqueeze(-1)
c.index_select(1, torch.tensor([2, 0]))
u.index_select(1, torch.tensor([2, 2]))
c[0]
u[0]
u[-1]
u[2]
c[:, 2]
u[0, 2]
list(u)[0]
u.sum()
u.sum(0)
u.sum(1)
u.sum(1, keepdim=True)
u.sum((0, 1))
n.sum()
n.sum(0)
torch.sparse.sum(u)
torch.sparse.sum(u, 0)
torch.sparse.sum(c, -1)
torch.sparse.sum(c, dtype=torch.float64)
torch.sparse.sum(c, 0, dtype=torch.float64)
torch.sparse.sum(r)
torch.sparse.softmax(u, 1)
torch.sparse.softmax(c, 0)
torch.sparse.softmax(c, 1, dtype=torch.float64)
torch.sparse.softmax(h, 1)
torch.sparse.log_softmax(u, 1)
torch.softmax(u, 1)
u.any()
u.norm()
u.norm(1)
u.norm(dim=0)
u.max()
u.clone()
u.detach()
c.double()
c.long()
c.to(torch.float64)
u.to(torch.float32) is u
u.cpu() is u
torch.zeros_like(u)
torch.empty_like(u)
torch.ones_like(u)
u.is_sparse, u.is_sparse_csr, u.layout, u.is_contiguous(), u.type(), u.stride()
u.numel(), u.size(), u.dim(), len(u), u.shape
u._nnz(), u.sparse_dim(), u.dense_dim(), h.sparse_dim(), h.dense_dim()
u.indices()
u.values()
c.indices()
c.values()
u._indices()
u._values()
u.crow_indices()
r.indices()
d.indices()
d.values()
d._nnz()
d._indices()
d.crow_indices()
d.sparse_dim(), d.dense_dim()
d.is_coalesced()
d.coalesce()
r.coalesce()
r.is_coalesced()
d.to_dense() is d
u.to_dense()
h.to_dense()
u.to_dense(torch.float64)
u.to_sparse() is u
d.to_sparse()
d.to_sparse(1)
d.to_sparse(3)
d.to_sparse_coo()
d.to_sparse(layout=torch.sparse_csr)
torch.tensor(3.0).to_sparse()
torch.zeros(2, 2).to_sparse()
torch.zeros(2, 2).to_sparse_csr()
u.to_sparse_csr()
r.to_sparse()
r.to_dense()
r.to_sparse_csr() is r
bool(u)
u.item()
u.numpy()
u.reshape(3, 2)
u.flatten()
u.view(3, 2)
r.numpy()
h.coalesce()
h.t()
h.permute(1, 0)
torch.sparse.sum(h, 0)
torch.sparse.sum(h, 1)
h * h
h * torch.ones(2, 2)
h + h
h[0]
h[:, 1]
torch.cat([h, h])
torch.cat([h, h], 1)
torch.stack([h, h])
torch.stack([h, h], 2)
h.unsqueeze(2)
h @ torch.ones(2, 2)
u @ m
m @ u
u @ u.t()
u @ torch.ones(3)
u @ torch.ones(2, 2)
u @ m.double()
n @ m.long()
torch.mm(u, m)
torch.spmm(u, m)
torch.dsmm(u, m)
torch.matmul(u, m)
u.mv(torch.ones(3))
u.mv(torch.ones(2))
torch.sparse.mm(u, m)
torch.sparse.mm(m, u)
torch.sparse.mm(u, u.t())
torch.sparse.mm(u, torch.ones(2, 2))
torch.sparse.mm(u, m.double())
torch.sparse.mm(u, torch.ones(3))
torch.addmm(torch.ones(2, 2), u, m, beta=2, alpha=3)
torch.addmm(torch.ones(2), u, m)
torch.addmm(u, u, m)
torch.sparse.addmm(torch.ones(2, 2), u, m, beta=2, alpha=3)
torch.hspmm(u, m)
torch.smm(u, m)
torch.bmm(torch.stack([c, c]), torch.stack([m, m]))
torch.nn.functional.linear(u, m.t())
torch.nn.functional.linear(u, m.t(), torch.ones(2))
d + u
d - u
d.add(u, alpha=3)
u + d
u + 1
u - d
torch.ones(1) + u
u + torch.sparse_coo_tensor(size=(3, 3))
u * torch.sparse_coo_tensor(size=(3, 3))
u * torch.ones(3)
u / u
u / d
c + c.double()
n * 2.5
n / 2
n.sqrt()
torch.div(u, 2, rounding_mode="trunc")
torch.div(u, 2, rounding_mode="floor")
u.clone().mul_(2)
u.clone().div_(2)
u.clone().neg_()
c.clone().add_(c)
c.clone().sub_(c)
u.clone().zero_()
u.clone().copy_(c)
u.clone().add_(d)
u.clone().copy_(d)
d.clone().copy_(u)
d.clone().add_(u, alpha=2)
d.clone().sub_(u, alpha=2)
d.clone().mul_(u)
d.sparse_mask(u)
d.sparse_mask(c)
u.sparse_mask(c)
d.sparse_mask(d)
d.sparse_mask(r)
u.clone().sparse_resize_((4, 5), 2, 0)
u.clone().sparse_resize_((1, 5), 2, 0)
u.clone().sparse_resize_and_clear_((4, 5), 2, 0)
r @ m
r @ torch.ones(3)
m @ r
torch.sparse.mm(r, m)
torch.addmm(torch.ones(2, 2), r, m)
torch.sparse.addmm(torch.ones(2, 2), r, m)
r * 2
r + r
d + r
r + d
r * r
r * d
-r
r - r
r / 2
r ** 2
r == r
r.exp()
r.sin()
r.relu()
r.sum()
r[0]
r[0, 2]
r.clone()
r.double()
r.clone().zero_()
r.type()
r._values()
r.is_sparse, r.is_sparse_csr, r.layout, r._nnz(), r.sparse_dim(), r.dense_dim()
r.crow_indices()
r.col_indices()
r.values()
r.t()
r.transpose(0, 1)
""".strip().splitlines()


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    expected, found = both(lambda lib: eval(expression, vars(Setting(lib))), torch)
    assert found == expected
