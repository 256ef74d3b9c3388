"""`gradcheck` of functions of sparse tensors, beside PyTorch's; and sparse tensors from a size."""

from __future__ import annotations

from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore:Sparse"),
]


def _operands(lib: Any) -> tuple[Any, Any, Any]:
    """A sparse leaf, a compressed one, and a dense one."""
    places = lib.tensor([[0, 1, 1], [2, 0, 2]])
    values = lib.tensor([3.0, 4.0, 5.0], dtype=lib.float64)
    sparse = lib.sparse_coo_tensor(places, values, (2, 3)).coalesce()
    return (
        sparse.clone().requires_grad_(),
        sparse.to_sparse_csr().requires_grad_(),
        lib.arange(6, dtype=lib.float64).reshape(2, 3).requires_grad_(),
    )


# of the libraries, s sparse, c compressed, d dense
FUNCTIONS = {
    "to_dense": lambda lib, s, c, d: (lambda x: x.to_dense(masked_grad=True), (s,)),
    "to_dense of all": lambda lib, s, c, d: (lambda x: x.to_dense(masked_grad=False), (s,)),
    "compressed": lambda lib, s, c, d: (lambda x: x.to_dense(masked_grad=True), (c,)),
    "mm": lambda lib, s, c, d: (lambda x, y: lib.sparse.mm(x, y.t()), (s, d)),
    "sum": lambda lib, s, c, d: (lambda x: lib.sparse.sum(x), (s,)),
    "values": lambda lib, s, c, d: (lambda x: x.coalesce().values() ** 2, (s,)),
    "add": lambda lib, s, c, d: (lambda x, y: x + y, (d, s)),
    "sparse result": lambda lib, s, c, d: (lambda x: x * 2, (s,)),
}


def _outcome(lib: Any, name: str, options: dict[str, bool]) -> Any:
    function, inputs = FUNCTIONS[name](lib, *_operands(lib))
    try:
        return lib.autograd.gradcheck(function, inputs, **options)
    except Exception as error:
        return type(error).__name__, str(error).partition("\n")[0]


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_outcome(name: str, masked: bool) -> None:
    options = {"masked": masked}
    ours = _outcome(retrograd, name, options)
    assert ours == _outcome(torch, name, options)
    # fast mode compares whole Jacobians too, where PyTorch's looks along one direction
    assert ours == _outcome(retrograd, name, options | {"fast_mode": True})


def test_a_wrong_gradient_is_found_and_the_input_is_left_as_it_was() -> None:
    sparse, _, _ = _operands(retrograd)

    class Wrong(retrograd.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    before = repr(sparse)
    for masked in (True, False):
        with pytest.raises(RuntimeError, match=r"^Jacobian mismatch"):
            retrograd.autograd.gradcheck(
                lambda x, masked=masked: Wrong.apply(x.to_dense(masked_grad=masked)),
                (sparse,),
                masked=masked,
            )
    assert repr(sparse) == before


EMPTY = """
torch.zeros(2, 3, layout=torch.sparse_coo)
torch.zeros((2, 3), layout=torch.sparse_coo, dtype=torch.int64)
torch.zeros(2, layout=torch.sparse_coo, requires_grad=True)
torch.empty(0, layout=torch.sparse_coo)
torch.empty((), layout=torch.sparse_coo)
torch.zeros(2, 3, layout=torch.sparse_csr)
torch.zeros(2, 3, layout=torch.sparse_coo).is_coalesced()
torch.zeros(2, 3, layout=torch.sparse_coo).to_dense()
torch.ones(2, 3) + torch.zeros(2, 3, layout=torch.sparse_coo)
torch.eye(2).to_sparse().new_zeros(3, 2)
torch.eye(2).to_sparse().new_empty((3,))
torch.eye(2).to_sparse().new_zeros(2, layout=torch.strided)
torch.eye(2).to_sparse().storage_offset()
torch.ones(2, layout=torch.sparse_coo)
""".strip().splitlines()


@pytest.mark.parametrize("program", EMPTY)
def test_sparse_tensors_from_a_size(program: str) -> None:
    found = []
    for lib in (retrograd, torch):
        try:
            found.append(repr(eval(program, {"torch": lib})))
        except RuntimeError as error:
            found.append(str(error).partition("\n")[0])
    assert found[0] == found[1]
