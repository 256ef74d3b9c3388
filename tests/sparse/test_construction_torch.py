"""Constructors, printed forms, files and pickles of sparse tensors beside PyTorch."""

from __future__ import annotations

import io
import pickle
import warnings
from typing import Any

import pytest

import retrograd
from tests.sparse.pairs import both, describe

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CALLS = """
C(i, v, (2, 3))
C(i, v)
C([[0, 1], [1, 0]], [1, 2])
C([[0, 1], [1, 0]], [1.5, 2])
C(i, v, (2, 3), dtype=torch.float64)
C(i, v, (2, 3), requires_grad=True)
C(i, v, (2, 3), device="cpu")
C((2, 3))
C(size=(2, 3))
C(T([[0, 1]]), torch.ones(2, 3))
C(T([[0, 1]]), torch.ones(2, 3), (4, 3))
C(i, v, (2, 3), is_coalesced=True)
C(T([[1, 0]]), T([1.0, 2.0]), (2,), is_coalesced=True, check_invariants=True)
C(T([[-1, 0]]), T([1.0, 2.0]))
C(T([[5, 0]]), T([1.0, 2.0]), (2,), check_invariants=True)
C(T([[1, 0]]), T([1.0, 2.0, 3.0]), (2,))
C(T([[1, 0]]), T([1.0, 2.0, 3.0]))
C(i, v, (2,))
C(T([[0, 1]]), torch.ones(2, 3), (2, 4))
C(T([0, 1]), v[:2])
C(T([0, 1]), v[:2], (2,))
C(T([[0.0, 1.0]]), v[:2], (2,))
C(T([[0, 1]], dtype=torch.int32), v[:2], (2,))
C(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0), (2, 3))
C(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0))
C(torch.zeros(0, 1, dtype=torch.int64), T([1.0]), ())
C(i, v, (-1, 3))
C(i, T([1, 2, 3]), (2, 3))
C(i, T([True, False, True]), (2, 3))
C()
C(T([[0]]), T(1.0))
C(i, v, (2, 3), pin_memory=True)
C(T([[0, 0]]), T([1.0, 2.0])).coalesce()
C(i, v.clone().requires_grad_(), (2, 3)).t()
C(torch.arange(3000).reshape(1, 3000), torch.arange(3000.0))
C(i, v * 1j, (2, 3))
C(i, v.half(), (2, 3))
torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))
torch.sparse.FloatTensor(i, v)
torch.sparse.FloatTensor(i, v, [2, 3])
torch.sparse.FloatTensor(2, 3)
torch.sparse.FloatTensor(torch.Size([2, 3]))
torch.sparse.FloatTensor()
torch.sparse.DoubleTensor(i, v.double(), torch.Size([2, 3]))
torch.sparse.LongTensor(i, T([1, 2, 3]), torch.Size([2, 3]))
isinstance(C(i, v), torch.sparse.FloatTensor), isinstance(C(i, v), torch.sparse.DoubleTensor)
isinstance(v, torch.sparse.FloatTensor)
R(T([0, 1, 3]), T([2, 0, 2]), v, (2, 3))
R(T([0, 1, 3]), T([2, 0, 2]), v)
R([0, 1, 3], [2, 0, 2], [1, 2, 3], dtype=torch.float64)
R(T([0, 1, 3], dtype=torch.int32), T([2, 0, 2], dtype=torch.int32), v)
R(T([0, 1, 3]), T([2, 0, 2]), v, (2, 3), requires_grad=True)
R(T([0, 1, 3, 3]), T([2, 0, 2]), v, (2, 3), check_invariants=True)
R(T([1, 1, 3]), T([2, 0, 2]), v, (2, 3), check_invariants=True)
R(T([0, 1, 2]), T([2, 0, 2]), v, (2, 3), check_invariants=True)
R(T([0, 1, 3]), T([2, 0, 5]), v, (2, 3), check_invariants=True)
R(T([0, 1, 3]), T([2, 2, 0]), v, (2, 3), check_invariants=True)
R(T([0, 1, 3]), T([2, 2, 0]), v, (2, 3)).to_dense()
R(T([0, 1, 3]), T([2, 0]), v, (2, 3), check_invariants=True)
R(T([0, 1, 3]), T([2, 0, 2], dtype=torch.int32), v, (2, 3), check_invariants=True)
R(T([0, 3, 1, 3]), T([2, 0, 2]), v, (3, 3), check_invariants=True)
torch.sparse_compressed_tensor(T([0, 1, 3]), T([2, 0, 2]), v, (2, 3), layout=torch.sparse_csr)
torch.eye(1500).to_sparse_csr()
torch.eye(2, requires_grad=True).to_sparse_csr()
torch.zeros(2, 2).to_sparse()
torch.zeros(2, 2).to_sparse_csr()
torch.nn.Parameter(C(i, v, (2, 3)))
""".strip().splitlines()


def _names(lib: Any) -> dict[str, Any]:
    return {
        "torch": lib,
        "C": lib.sparse_coo_tensor,
        "R": lib.sparse_csr_tensor,
        "T": lib.tensor,
        "i": lib.tensor([[0, 1, 1], [2, 0, 2]]),
        "v": lib.tensor([3.0, 4.0, 5.0]),
    }


@pytest.mark.parametrize("call", CALLS)
def test_constructor_and_printed_form(call: str) -> None:
    def program(lib: Any) -> Any:
        made = eval(call, _names(lib))
        return made if isinstance(made, (bool, tuple)) else (repr(made), str(made.dtype))

    expected, found = both(program, torch)
    assert found == expected


def test_legacy_constructor_warns_once() -> None:
    retrograd.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"torch.sparse.SparseTensor\(indices, values, shape"):
            retrograd.sparse.FloatTensor(*[_names(retrograd)[n] for n in "iv"], [2, 3])
    finally:
        retrograd.set_warn_always(False)


@pytest.mark.parametrize("layout", ["coo", "coalesced", "csr"])
@pytest.mark.parametrize("writer", ["torch", "retrograd"])
def test_files_of_either_library_are_read_by_the_other(layout: str, writer: str) -> None:
    write, read = (torch, retrograd) if writer == "torch" else (retrograd, torch)

    def made(lib: Any) -> Any:
        tensor = lib.sparse_coo_tensor(*[_names(lib)[n] for n in "iv"], (2, 3))
        return {"coo": tensor, "coalesced": tensor.coalesce(), "csr": tensor.to_sparse_csr()}[
            layout
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file = io.BytesIO()
        write.save({"matrix": made(write)}, file)
        file.seek(0)
        assert describe(read.load(file)["matrix"]) == describe(made(read))


@pytest.mark.parametrize("layout", ["coo", "csr"])
def test_pickles_come_back(layout: str) -> None:
    tensor = retrograd.eye(3).to_sparse()
    tensor = (tensor if layout == "coo" else tensor.to_sparse_csr()).requires_grad_()
    again = pickle.loads(pickle.dumps(tensor))
    assert describe(again) == describe(tensor)
