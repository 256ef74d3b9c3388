"""What a sparse tensor is: a plain Tensor without elements, which dense code cannot use."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.engine.sparse_array import NoElements, SparseArray
from retrograd.engine.state import HOT


def _matrix() -> Any:
    return torch.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))


def test_it_is_a_plain_tensor_and_no_mode() -> None:
    before = HOT["UNUSUAL"]
    x = _matrix()
    assert type(x) is torch.Tensor
    assert HOT["UNUSUAL"] == before
    assert x.layout is torch.sparse_coo
    assert x.to_sparse_csr().layout is torch.sparse_csr
    assert torch.ones(1).layout is torch.strided
    assert not torch.ones(1).is_sparse


def test_its_dtype_equals_the_dense_one_and_is_another_object() -> None:
    x: Any = _matrix()._array
    assert x.dtype == np.dtype("float32")
    assert x.dtype is not np.dtype("float32")
    assert _matrix().dtype is torch.float32


READERS = {
    "asarray": lambda x: np.asarray(x._array),
    "ufunc": lambda x: np.multiply(x._array, 2),
    "function": lambda x: np.concatenate([x._array, x._array]),
    "index": lambda x: x._array[0],
    "write": lambda x: x._array.__setitem__(0, 1),
    "bool": lambda x: bool(x._array),
    "sum": lambda x: x._array.sum(),
    "operator": lambda x: x._array * 2,
    "tolist": lambda x: x.tolist(),
    "data_ptr": lambda x: x.data_ptr(),
    "storage": lambda x: x.untyped_storage().nbytes(),
}


@pytest.mark.parametrize("name", READERS)
def test_its_elements_cannot_be_read(name: str) -> None:
    with pytest.raises((NoElements, RuntimeError, NotImplementedError)):
        READERS[name](_matrix())


def test_gradients_that_meet_may_be_added() -> None:
    array: Any = _matrix()._array
    total = np.add(array, array)
    assert isinstance(total, SparseArray)
    dense = np.ones((2, 3), np.float32) + array
    assert dense.tolist() == [[1, 1, 4], [5, 1, 6]]


def test_results_of_dense_functions_have_the_dense_dtype_object() -> None:
    """A marked dtype in a dense array would send every later op the long way."""
    x = _matrix().requires_grad_()
    d = torch.ones(3, 2, requires_grad=True)
    results = [x @ d, x.to_dense(), torch.sparse.mm(x, d), x.coalesce().values(), x.sum()]
    results += [torch.zeros_like(x, layout=torch.strided), torch.ones(2, 3) + x]
    (x @ d).sum().backward()
    results += [x.grad, d.grad]
    assert all(result._array.dtype is np.dtype("float32") for result in results)


def test_the_gradient_of_a_dense_leaf_is_never_marked() -> None:
    weight = torch.ones(4, 2, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([1, 1]), weight * 2, sparse=True)
    (rows.sum() + (weight * 3).sum()).backward()
    assert weight.grad is not None and weight.grad._array.dtype is np.dtype("float32")
    assert weight.grad.tolist() == [[3, 3], [7, 7], [3, 3], [3, 3]]


def test_a_sparse_gradient_goes_through_ops_in_autograd_grad() -> None:
    weight = torch.ones(4, 2, requires_grad=True)
    rows = torch.nn.functional.embedding(torch.tensor([1, 1]), weight * 2, sparse=True)
    [found] = torch.autograd.grad(rows.sum() + (weight * 3).sum(), [weight])
    assert found.tolist() == [[3, 3], [7, 7], [3, 3], [3, 3]]


def test_detach_shares_and_clone_does_not() -> None:
    x = _matrix()
    shared, own = x.detach(), x.clone()
    x._values().mul_(2)
    assert shared.to_dense().tolist() == x.to_dense().tolist()
    assert own.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]


def test_in_place_changes_are_counted() -> None:
    x = _matrix()
    version = x._version
    x.mul_(2)
    assert x._version == version + 1


def test_a_saved_sparse_operand_that_changed_is_noticed() -> None:
    x, d = _matrix(), torch.ones(3, 2, requires_grad=True)
    y = (x @ d).sum()
    x.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_graph_with_a_sparse_operand_is_freed() -> None:
    x, d = _matrix(), torch.ones(3, 2, requires_grad=True)
    y = (x @ d).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_vmap_refuses_by_name() -> None:
    x = _matrix()
    with pytest.raises(NotImplementedError, match="sparse operand inside of vmap"):
        torch.vmap(lambda d: x @ d)(torch.ones(2, 3, 2))


def test_grad_transform_works() -> None:
    x = _matrix()
    found = torch.func.grad(lambda d: torch.sparse.mm(x, d).sum())(torch.ones(3, 2))
    assert found.tolist() == [[4, 4], [0, 0], [8, 8]]


def test_deepcopy_of_a_module_with_a_sparse_buffer() -> None:
    module = torch.nn.Module()
    module.register_buffer("adjacency", _matrix())
    again = copy.deepcopy(module)
    again.adjacency.mul_(0)
    assert module.adjacency.to_dense().tolist() == [[0, 0, 3], [4, 0, 5]]
    assert set(module.state_dict()) == {"adjacency"}
    assert module.double().adjacency.dtype is torch.float64


@pytest.mark.parametrize("name", ["to_sparse_bsr", "to_sparse_bsc"])
def test_other_layouts_are_refused_by_name(name: str) -> None:
    with pytest.raises(NotImplementedError, match=name):
        getattr(torch.ones(2, 2), name)((1, 1))
    with pytest.raises(NotImplementedError, match="sparse_bsr"):
        torch.sparse_compressed_tensor([0, 1], [0], [1.0], layout=torch.sparse_bsr)


def test_indices_outside_are_found_when_they_are_used() -> None:
    x = torch.sparse_coo_tensor([[5]], [1.0], (2,))
    with pytest.raises(RuntimeError, match="size is 2 but found index 5"):
        x.to_dense()


def test_invariant_checks_as_context_and_decorator() -> None:
    check = torch.sparse.check_sparse_tensor_invariants
    assert not check.is_enabled()
    with check():
        assert check.is_enabled()
    assert not check.is_enabled()

    @check()
    def make() -> Any:
        return torch.sparse_coo_tensor([[5]], [1.0], (2,))

    with pytest.raises(RuntimeError, match="found index 5"):
        make()


@pytest.mark.parametrize("tall", [False, True])
def test_products_with_long_rows(tall: bool) -> None:
    """Rows of very different lengths, entries in any order, places given twice."""
    generator = np.random.default_rng(0)
    weights = 1 / (np.arange(50) + 1.0)
    one = generator.choice(50, 900, p=weights / weights.sum())
    places = np.stack([one, generator.integers(0, 30, 900)])
    x = torch.sparse_coo_tensor(torch.from_numpy(places), torch.randn(900).double(), (50, 30))
    if tall:
        x = x.t()
    d = torch.randn(x.shape[1], 4).double()
    assert torch.allclose(x @ d, x.to_dense() @ d)
    assert torch.allclose(d.t() @ x.t(), d.t() @ x.t().to_dense())
    assert torch.allclose((x @ x.t()).to_dense(), x.to_dense() @ x.to_dense().t())


def test_empty_matrices() -> None:
    x = torch.sparse_coo_tensor(size=(3, 4))
    assert (x @ torch.ones(4, 2)).tolist() == [[0, 0]] * 3
    assert (x @ torch.sparse_coo_tensor(size=(4, 2)))._nnz() == 0
    assert torch.sparse_coo_tensor(size=(0, 4)).matmul(torch.ones(4, 2)).shape == (0, 2)
    assert torch.sparse.softmax(x, 1)._nnz() == 0
    assert torch.sparse.sum(x, 0).to_dense().tolist() == [0] * 4


def test_forward_mode_refuses_by_name() -> None:
    x = _matrix()
    ones = torch.ones(3, 2)
    with pytest.raises(NotImplementedError, match="forward AD with _sparse_addmm"):
        torch.func.jvp(lambda d: torch.sparse.mm(x, d), (ones,), (ones,))
