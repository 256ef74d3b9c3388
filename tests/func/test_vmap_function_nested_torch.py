"""Functions whose rule for vmap is generated, under several levels of vmap: PyTorch's gradients."""

from typing import Any

import pytest

import retrograd

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def function_of(library: Any) -> Any:
    class Product(library.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x, y):
            return x * x.sum() * y, x.sum()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx, g, h):
            x, y = ctx.saved_tensors
            return g * x.sum() * y + (g * x * y).sum() + h, g * x * x.sum()

        @staticmethod
        def jvp(ctx, s, t):
            x, y = ctx.saved_tensors
            first = s * x.sum() * y + x * s.sum() * y + x * x.sum() * t
            return first, s.sum()

    return Product


def gradients(library: Any, dims: tuple[Any, ...], order: int) -> list[Any]:
    """Of leaves that a nest of vmaps goes over; the innermost dims come last."""
    library.manual_seed(0)
    product = function_of(library)
    x = library.randn(3, 3, 3, 3, dtype=library.float64, requires_grad=True)
    y = library.randn(3, 3, 3, 3, dtype=library.float64, requires_grad=True)
    inner: Any = product.apply
    for in_dims in reversed(dims):
        inner = library.func.vmap(inner, in_dims, out_dims=(-1, 0))
    values, sums = inner(x, y)
    loss = (values * values).sum() + (sums * sums).sum()
    found = library.autograd.grad(loss, (x, y), create_graph=order > 1)
    if order > 1:
        found += library.autograd.grad(sum((g * g).sum() for g in found), (x, y))
    return [values.tolist(), *[g.tolist() for g in found]]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "dims",
    [((1, 0),), ((0, 0), (0, 0)), ((1, 0), (0, 2)), ((0, None), (1, 0)), ((2, 1), (0, 1), (1, 0))],
    ids=str,
)
def test_gradients(dims: tuple[Any, ...], order: int) -> None:
    for ours, theirs in zip(
        gradients(retrograd, dims, order), gradients(torch, dims, order), strict=True
    ):
        torch.testing.assert_close(torch.tensor(ours), torch.tensor(theirs))


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
def test_forward_mode() -> None:
    def found(library: Any) -> Any:
        product = function_of(library)
        x = library.arange(24, dtype=library.float64).reshape(2, 3, 4) / 10
        two = library.func.vmap(library.func.vmap(product.apply, (0, 0)), (1, 0))
        return library.func.jvp(two, (x.transpose(0, 1), x), (x.transpose(0, 1) + 1, x * x))

    for ours, theirs in zip(found(retrograd)[1], found(torch)[1], strict=True):
        torch.testing.assert_close(torch.tensor(ours.tolist()), torch.tensor(theirs.tolist()))
