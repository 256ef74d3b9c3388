"""Gradients through sparse functions beside PyTorch: numbers, layouts, first and second order."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd
from tests.sparse.pairs import both, describe

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def operands(lib: Any, coalesced: bool) -> Any:
    """A sparse leaf, a dense leaf, and weights for results of two by three."""
    places = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    leaf = lib.sparse_coo_tensor(places, lib.tensor([3.0, 4.0, 5.0, 1.0]), (2, 3))
    if coalesced:
        leaf = leaf.coalesce()
    leaf.requires_grad_()
    dense = lib.arange(6.0).reshape(3, 2).requires_grad_()
    return leaf, dense, lib.arange(6.0).reshape(2, 3)


PROGRAMS = """
torch.mm(s, d)
s @ d
torch.spmm(s, d)
torch.sparse.mm(s, d)
torch.addmm(torch.ones(2, 2), s, d)
torch.sparse.addmm(torch.ones(2, 2), s, d, beta=2, alpha=3)
s @ d[:, 0]
d @ s
torch.sparse.mm(d, s)
s.to_dense() * w
s.to_dense(masked_grad=False) * w
s.sum()
s.sum(0).to_dense()
torch.sparse.sum(s)
torch.sparse.sum(s, 0).to_dense()
torch.sparse.sum(s, (0, 1))
s.t().to_dense() * w.t()
s.permute(1, 0).to_dense()
(s * 2).to_dense()
(s * d.t()).to_dense()
(d.t() * s).to_dense()
(s + s).to_dense()
d.t() + s
(s - s * 3).to_dense()
(-s).to_dense()
(s / 2).to_dense()
(s ** 2).to_dense()
s.relu().to_dense()
s.abs().to_dense()
s.index_select(0, torch.tensor([1, 1])).to_dense()
s[1].to_dense()
s[0, 2]
torch.cat([s, s]).to_dense()
s.unsqueeze(0).to_dense()
s.double().to_dense()
s.clone().to_dense()
s.norm()
s.coalesce().to_dense()
s.coalesce().values() * torch.arange(3.0)
d.t().sparse_mask(s.detach().coalesce()).to_dense() * w
s.sparse_mask(s.detach().coalesce()).to_dense()
d.to_sparse().to_dense() * w.t()
d.to_sparse_csr().to_dense()
s.to_sparse_csr().to_dense()
torch.bmm(torch.stack([s, s]), torch.stack([d, d]))
torch.nn.functional.linear(s, d.t())
""".strip().splitlines()


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("expression", PROGRAMS)
def test_gradients_of_leaves(expression: str, coalesced: bool) -> None:
    def program(lib: Any) -> Any:
        s, d, w = operands(lib, coalesced)
        eval(expression, {"torch": lib, "s": s, "d": d, "w": w}).sum().backward()
        return s.grad, d.grad

    expected, found = both(program, torch)
    assert found == expected


# the order of entries that share a place, and which of them are summed, may differ here
UNORDERED = [
    "(s @ s.t()).to_dense()",
    "torch.sparse.mm(s, s.t()).to_dense()",
    "(s * s).to_dense()",
    "torch.stack([s, s]).to_dense()",
    "torch.sparse.softmax(s, 1).to_dense() * w",
    "torch.sparse.log_softmax(s, 1).to_dense() * w",
]


@pytest.mark.parametrize("coalesced", [False, True])
@pytest.mark.parametrize("expression", UNORDERED)
def test_gradients_as_dense_numbers(expression: str, coalesced: bool) -> None:
    def program(lib: Any) -> Any:
        s, d, w = operands(lib, coalesced)
        eval(expression, {"torch": lib, "s": s, "d": d, "w": w}).sum().backward()
        assert s.grad.is_sparse
        return s.grad.to_dense()

    expected, found = both(program, torch)
    assert found == expected


VALUES = """
torch.sparse.mm(s, d)
s @ d
s.to_dense() * w
s.coalesce().values() ** 2
torch.sparse.softmax(s, 1).coalesce().values() * torch.arange(3.0)
torch.sparse.sum(s, 1).to_dense() ** 2
(s * 3).to_dense() ** 2
(s + s.detach()).to_dense() ** 2
s.t().to_dense() ** 2
""".strip().splitlines()


@pytest.mark.parametrize("expression", VALUES)
def test_gradients_of_values(expression: str) -> None:
    def program(lib: Any) -> Any:
        _, d, w = operands(lib, False)
        values = lib.tensor([3.0, 4.0, 5.0, 1.0], requires_grad=True)
        places = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
        s = lib.sparse_coo_tensor(places, values, (2, 3))
        eval(expression, {"torch": lib, "s": s, "d": d, "w": w}).sum().backward()
        return values.grad, d.grad

    expected, found = both(program, torch)
    assert found == expected


def test_gradients_of_csr_values() -> None:
    def program(lib: Any) -> Any:
        values = lib.tensor([3.0, 4.0, 5.0], requires_grad=True)
        dense = lib.arange(6.0).reshape(3, 2).requires_grad_()
        rows, columns = lib.tensor([0, 1, 3]), lib.tensor([2, 0, 2])
        matrix = lib.sparse_csr_tensor(rows, columns, values, (2, 3))
        (lib.sparse.mm(matrix, dense) ** 2).sum().backward()
        return values.grad, dense.grad

    expected, found = both(program, torch)
    assert found == expected


def test_gradient_of_a_csr_leaf_is_csr() -> None:
    def program(lib: Any) -> Any:
        matrix = lib.eye(3).to_sparse_csr().requires_grad_()
        lib.sparse.mm(matrix, lib.arange(6.0).reshape(3, 2)).sum().backward()
        return matrix.grad

    expected, found = both(program, torch)
    assert found == expected


SECOND = {
    "torch.sparse.mm(s, d)": "s @ d",
    "s @ d": "s @ d",
    "s.to_dense() * w": "s * w",
    "(s * 2).to_dense() * w": "(s * 2) * w",
    "s.t().to_dense() * w.t()": "s.t() * w.t()",
}


def _second(lib: Any, expression: str, sparse: bool) -> Any:
    """The gradient of a gradient's norm, towards the values and the dense operand."""
    _, d, w = operands(lib, False)
    d = d.detach().double().requires_grad_()
    values = lib.tensor([3.0, 4.0, 5.0, 1.0], dtype=lib.float64, requires_grad=True)
    places = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    if sparse:
        s = lib.sparse_coo_tensor(places, values, (2, 3))
    else:
        s = lib.zeros(2, 3, dtype=lib.float64).index_put(tuple(places), values, accumulate=True)
    result = eval(expression, {"torch": lib, "s": s, "d": d, "w": w.double()})
    leaves = (values, d) if "d" in expression.replace("to_dense", "") else (values,)
    first = lib.autograd.grad((result**3).sum(), leaves, create_graph=True)
    total = sum((g**2).sum() for g in first)
    return describe(lib.autograd.grad(total, leaves))


@pytest.mark.parametrize("expression", SECOND)
def test_second_order_is_that_of_a_dense_matrix(expression: str) -> None:
    """PyTorch's own second order of these forgets a part, so its dense matrices are asked."""
    assert _second(retrograd, expression, True) == _second(torch, SECOND[expression], False)


@pytest.mark.parametrize("expression", ["torch.sparse.mm(s, d)", "s @ d", "d.t() @ s.t()"])
def test_gradcheck(expression: str) -> None:
    lib = retrograd
    places = lib.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])

    def function(values: Any, d: Any) -> Any:
        s = lib.sparse_coo_tensor(places, values, (2, 3))
        return eval(expression, {"torch": lib, "s": s, "d": d})

    values = lib.tensor([3.0, 4.0, 5.0, 1.0], dtype=lib.float64, requires_grad=True)
    d = lib.arange(6.0, dtype=lib.float64).reshape(3, 2).requires_grad_()
    assert lib.autograd.gradcheck(function, (values, d))
    assert lib.autograd.gradgradcheck(function, (values, d))


def test_a_graph_convolution_trains_alike() -> None:
    """Two layers of a graph network, five steps of SGD: the losses are PyTorch's."""

    def program(lib: Any) -> Any:
        lib.manual_seed(3)
        edges = lib.randint(0, 20, (2, 60))
        adjacency = lib.sparse_coo_tensor(edges, lib.ones(60) / 5, (20, 20)).coalesce()
        features = lib.randn(20, 8)
        one = lib.nn.Parameter(lib.randn(8, 6) / 4)
        two = lib.nn.Parameter(lib.randn(6, 3) / 4)
        labels = lib.randint(0, 3, (20,))
        optimizer = lib.optim.SGD([one, two], lr=0.5)
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            hidden = lib.relu(lib.spmm(adjacency, features @ one))
            loss = lib.nn.functional.cross_entropy(lib.spmm(adjacency, hidden @ two), labels)
            loss.backward()
            optimizer.step()
            losses.append(round(loss.item(), 4))
        return losses

    expected, found = both(program, torch)
    assert found == expected


def test_describe_sees_a_difference() -> None:
    x = retrograd.eye(2).to_sparse()
    assert describe(x) != describe(x * 2)
    assert describe(x) != describe(x.to_sparse_csr())
