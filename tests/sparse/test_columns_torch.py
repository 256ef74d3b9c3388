"""Matrices compressed by columns beside PyTorch: places, values, gradients, errors, files."""

from __future__ import annotations

import io
import pickle
from typing import Any

import pytest

import retrograd
from tests.sparse.pairs import both, describe

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Setting:
    """`k` is compressed by columns, `r` by rows, `c` by coordinates; `d` and `m` are dense."""

    def __init__(self, lib: Any) -> None:
        self.torch = lib
        self.T = lib.tensor
        self.d = lib.tensor([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
        self.m = lib.arange(6.0).reshape(3, 2)
        self.v = lib.tensor([1.0, 2.0, 3.0])
        self.k = self.d.to_sparse_csc()
        self.r = self.d.to_sparse_csr()
        self.c = self.d.to_sparse()
        self.q = lib.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse_csc()
        self.K = lib.sparse_csc_tensor
        self.L = self.k.detach().clone().requires_grad_()


EXPRESSIONS = """
k
r.to_sparse_csc()
c.to_sparse_csc()
k.to_sparse_csc() is k
k.to_sparse_csr()
k.to_sparse()
k.to_sparse_coo()
k.to_sparse(layout=torch.sparse_csr)
d.to_sparse(layout=torch.sparse_csc)
k.to_dense()
torch.zeros(2, 3).to_sparse_csc()
torch.zeros(0, 3).to_sparse_csc()
torch.zeros(2, 0).to_sparse_csc()
torch.ones(3).to_sparse_csc()
torch.ones(3, 2, dtype=torch.int64).to_sparse_csc()
(d > 1).to_sparse_csc()
(d * 1j).to_sparse_csc()
k.ccol_indices(), k.row_indices(), k.values(), k._nnz()
k.crow_indices()
k.col_indices()
r.ccol_indices()
r.row_indices()
d.ccol_indices()
k.indices()
k.coalesce()
k.is_coalesced()
k.is_sparse, k.is_sparse_csr, k.layout, k.sparse_dim(), k.dense_dim(), k.numel(), k.shape
k @ m
k @ v
torch.mm(k, m)
torch.matmul(k, m)
torch.mv(k, v)
torch.sparse.mm(k, m)
torch.addmm(torch.ones(2, 2), k, m)
torch.addmm(torch.ones(2, 2), k, m, beta=2, alpha=3)
torch.sparse.addmm(torch.ones(2, 2), k, m)
torch.ones(4, 2) @ k
k @ k.t()
k.t() @ k
(q @ q).to_dense()
k @ torch.ones(2, 2)
k @ m.double()
k + k
k + d
d + k
k - k
k * 2
2 * k
k / 2
k * k
k * d
-k
k.abs()
k.sin()
k.relu()
k.sqrt()
k.neg()
k.cos()
k.exp()
k == k
k.sum()
k.sum(0)
k.sum(1, keepdim=True)
torch.sparse.sum(k)
k.t()
k.t().t()
k.mT
k.transpose(0, 1)
k.transpose(1, 0)
k.transpose(0, 0)
r.t()
r.transpose(0, 1)
r.t() @ torch.ones(2, 2)
k.clone()
k.detach()
k.double()
k.to(torch.float16)
k.int()
k.to(torch.float32) is k
torch.zeros_like(k)
torch.ones_like(k)
torch.ones_like(r)
torch.zeros_like(k, dtype=torch.float64)
torch.zeros(2, 3, layout=torch.sparse_csc)
k[0]
k[0, 2]
k[:, 2]
k.select(1, 0)
k.clone().zero_()
k.clone().mul_(2)
k.clone().sin_()
k.clone().copy_(k)
d.sparse_mask(k)
(d * 2 + 1).sparse_mask(k)
str(k)
str(k.double())
str(torch.zeros(2, 2).to_sparse_csc())
K(T([0, 1, 1, 3]), T([0, 0, 1]), T([1.0, 2.0, 3.0]), (2, 3))
K(T([0, 1, 1, 3]), T([0, 0, 1]), T([1.0, 2.0, 3.0]))
K([0, 1, 3], [1, 0, 1], [3, 4, 5])
K([0, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0], dtype=torch.float64)
K([0, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0], (4, 2), requires_grad=True)
K(T([0, 1, 3], dtype=torch.int32), T([1, 0, 1], dtype=torch.int32), T([3.0, 4.0, 5.0]))
torch.sparse_compressed_tensor([0, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0], layout=torch.sparse_csc)
K([0, 1, 2], [1, 0, 1], [3.0, 4.0, 5.0], (2, 2), check_invariants=True)
K([0, 1, 3], [1, 0, 2], [3.0, 4.0, 5.0], (2, 2), check_invariants=True)
K([0, 1, 3], [1, 1, 0], [3.0, 4.0, 5.0], (2, 2), check_invariants=True)
K([1, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0], (2, 2), check_invariants=True)
K([0, 1, 3], [1, 0, 1], [3.0, 4.0], (2, 2), check_invariants=True)
K([0, 1, 3], [1, 0, 1], [3.0, 4.0, 5.0], (2, 3), check_invariants=True)
""".strip().splitlines()


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expression(text):
    theirs, ours = both(lambda lib: eval(text, vars(Setting(lib))), torch)
    assert ours == theirs


GRADIENTS = """
d.to_sparse_csc().to_dense()
d.to_sparse_csc().values()
d.to_sparse_csc() @ m
d.to_sparse_csc().t().to_dense()
d.to_sparse_csc().to_sparse().to_dense()
d.to_sparse_csc().to_sparse_csr().to_dense()
d.to_sparse_csr().to_sparse_csc().to_dense()
d.to_sparse_csr().t().to_dense()
(d.to_sparse_csc() * 2).to_dense()
d.to_sparse_csc().sum()
torch.mm(d.to_sparse_csc(), m)
torch.mv(d.to_sparse_csc(), w)
torch.addmm(torch.ones(2, 2), d.to_sparse_csc(), m)
torch.ones(4, 2) @ d.to_sparse_csc()
torch.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], w, (2, 3)).to_dense()
torch.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], w, (2, 3)) @ m
torch.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], w, (2, 3)).values()
torch.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], w, (2, 3)).sum()
L @ m
""".strip().splitlines()


@pytest.mark.parametrize("text", GRADIENTS)
def test_gradients(text):
    def program(lib: Any) -> Any:
        names = vars(Setting(lib))
        names["d"].requires_grad_()
        names["m"].requires_grad_()
        names["w"] = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
        result = eval(text, names)
        if result.layout is not lib.strided:
            result = result.to_dense()
        (result * lib.arange(1.0, 1 + result.numel()).reshape(result.shape)).sum().backward()
        return [result, *(names[n].grad for n in "dmwL" if names[n].grad is not None)]

    theirs, ours = both(program, torch)
    assert ours == theirs


def test_files_and_pickles_go_both_ways():
    for source, target in ((retrograd, torch), (torch, retrograd), (retrograd, retrograd)):
        file = io.BytesIO()
        source.save({"k": Setting(source).k}, file)
        file.seek(0)
        assert describe(target.load(file)["k"]) == describe(Setting(torch).k)
    made = pickle.loads(pickle.dumps(Setting(retrograd).k))
    assert describe(made) == describe(Setting(torch).k)


def test_a_damaged_file_is_refused():
    good = retrograd.eye(3).to_sparse_csc()
    good._array.indices[1][0] = 7  # type: ignore[attr-defined]
    file = io.BytesIO()
    retrograd.save(good, file)
    file.seek(0)
    with pytest.raises(RuntimeError, match="row_indices < nrows"):
        retrograd.load(file)


@pytest.mark.parametrize("name", ["to_sparse_bsr", "to_sparse_bsc"])
def test_blocks_are_refused_by_name(name):
    with pytest.raises(NotImplementedError, match=rf"Tensor\.{name}"):
        getattr(retrograd.eye(2), name)((1, 1))
