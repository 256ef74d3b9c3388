"""Indexed accumulation against real PyTorch."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from retrograd.backend.neutral import scatter
from tests.backend.bound import bound

scatter = bound(scatter)

# Ops switch NumPy's warnings off around their kernels.
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.int64, torch.float16, torch.uint8], ids=str)
def test_scatter_reduce(reduce, dtype):
    random = torch.Generator().manual_seed(0)
    for dim, include in product((0, 1, 2), (True, False)):
        sizes = [(4, 3, 5), (4, 3, 5), (2, 3, 4)]
        target = torch.randint(-4 if dtype.is_signed else 0, 5, sizes[0], generator=random).to(
            dtype
        )
        source = torch.randint(-4 if dtype.is_signed else 0, 5, sizes[1], generator=random).to(
            dtype
        )
        if dtype.is_floating_point:
            source[0, 0, 0] = float("nan")
        index = torch.randint(0, target.shape[dim], sizes[2], generator=random)
        expected = target.scatter_reduce(dim, index, source, reduce, include_self=include)
        actual = scatter.scatter_reduce(
            target.numpy(), dim, index.numpy(), source.numpy(), reduce, include
        )
        assert actual.dtype == expected.numpy().dtype
        close = 2e-3 if dtype is torch.float16 else 1e-12
        np.testing.assert_allclose(actual, expected.numpy(), rtol=close)


def test_gather_and_scatter():
    target, source = torch.randn(4, 3, 5), torch.randn(4, 3, 5)
    for dim in range(3):
        index = torch.argsort(torch.randn(3, 3, 3), dim)  # no place twice
        actual = scatter.gather(target.numpy(), dim, index.numpy())
        assert (actual == target.gather(dim, index).numpy()).all()
        actual = scatter.scatter(target.numpy(), dim, index.numpy(), source.numpy())
        assert (actual == target.scatter(dim, index, source).numpy()).all()


def test_index_put_accumulate():
    target = torch.randn(4, 3, 5, dtype=torch.float64)
    for index in (
        (torch.tensor([1, 1, -1]),),
        (torch.tensor([1, 1]), torch.tensor([2, 2])),
        (torch.tensor([[1], [0]]), torch.tensor([2, 2])),
    ):
        values = torch.randn(target[index].shape, dtype=torch.float64)
        expected = target.index_put(index, values, accumulate=True).numpy()
        places = tuple(part.numpy() for part in index)
        actual = scatter.add_at(target.numpy().copy(), places, values.numpy())
        np.testing.assert_allclose(actual, expected)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("padding", [None, 2])
def test_embedding_gradient(padding, scaled):
    weight = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    indices = torch.tensor([[1, 2, 2], [5, 1, 1]])
    output = torch.nn.functional.embedding(indices, weight, padding, scale_grad_by_freq=scaled)
    grad = torch.randn(output.shape, dtype=torch.float64)
    (expected,) = torch.autograd.grad(output, weight, grad)
    actual = scatter.embedding_gradient(indices.numpy(), grad.numpy(), 6, padding, scaled)
    np.testing.assert_allclose(actual, expected.numpy())


def test_bounds_speak_as_pytorch_does():
    for index in ((torch.tensor([0, 7]),), (torch.tensor([0]), torch.tensor([-4]))):
        with pytest.raises(IndexError) as expected:
            torch.zeros(3, 3).index_put(index, torch.ones(()), accumulate=True)
        with pytest.raises(IndexError) as actual:
            scatter.add_at(np.zeros((3, 3)), tuple(part.numpy() for part in index), np.ones(()))
        assert str(actual.value) == str(expected.value)
