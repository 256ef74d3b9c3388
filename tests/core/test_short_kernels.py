"""Kernels in C that work row by row: the bits of the Python kernels, whatever the shape."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import retrograd as torch
from tests.core.both import needs_core, on_both, same

pytestmark = needs_core

ROWS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, x.dim() - 1),
    "logsumexp": lambda x: torch.logsumexp(x, -1),
    "logsumexp, kept": lambda x: torch.logsumexp(x, dim=-1, keepdim=True),
    "first dimension": lambda x: torch.softmax(x, 0),
    "amax": lambda x: torch.amax(x, -1) if x.size(-1) else x,
    "amin, kept": lambda x: torch.amin(x, x.dim() - 1, keepdim=True) if x.size(-1) else x,
    "var": lambda x: torch.var(x, 0, correction=0.5) if x.numel() else x,
    "std, kept": lambda x: torch.std(x, -1, keepdim=True, correction=0) if x.numel() else x,
    "softplus": torch.nn.functional.softplus,
    "softplus, other threshold": lambda x: torch.nn.functional.softplus(x, 2, 5.0),
}
SHAPES = [
    (1,),
    (2,),
    (7,),
    (8,),
    (9,),
    (130,),
    (1024,),
    (1025,),
    (3, 1),
    (5, 17),
    (2, 3, 200),
    (0, 3),
]


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_have_the_same_bits(name: str, dtype: Any, shape: tuple[int, ...]) -> None:
    values = np.random.default_rng(5).normal(0, 4, shape).astype(dtype)
    inputs = torch.from_numpy(values)
    compiled, python = on_both(lambda: ROWS[name](inputs).numpy())
    assert same(compiled, python)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan, -0.0, 3e38])
def test_rows_with_odd_numbers(name: str, odd: float) -> None:
    values = np.array([[0.0, odd, 1.0], [odd, odd, odd], [2.0, -1.0, 0.5]], np.float32)
    inputs = torch.from_numpy(values)
    compiled, python = on_both(lambda: ROWS[name](inputs).numpy())
    assert same(compiled, python)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)], ids=str)
def test_gather_along_the_last_dimension(shape: tuple[int, ...]) -> None:
    inputs = torch.arange(float(np.prod(shape))).reshape(shape)
    index = torch.tensor([3, 0, 3, 1, 2]).expand(*shape[:-1], 5).contiguous()
    compiled, python = on_both(lambda: inputs.gather(-1, index).numpy())
    assert same(compiled, python)
    for outside in (-1, 4):
        with pytest.raises(RuntimeError, match=f"index {outside} is out of bounds"):
            inputs.gather(-1, torch.full_like(index, outside))


@pytest.mark.parametrize("lead", [(), (1,), (5,), (2, 3), (0,), (2, 0)], ids=str)
@pytest.mark.parametrize("grad", [True, False])
def test_linear_of_inputs_of_any_rank(lead: tuple[int, ...], grad: bool) -> None:
    values = np.random.default_rng(5).normal(size=(*lead, 6)).astype(np.float32)
    layer = torch.nn.Linear(6, 3)

    def program() -> list[Any]:
        inputs = torch.tensor(values, requires_grad=grad)
        layer.zero_grad()
        out = layer(inputs)
        out.sum().backward()
        found = [out.detach().numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()]
        nodes = [type(out.grad_fn).__name__, type(out.grad_fn.next_functions[0][0]).__name__]
        return [*found, *nodes, *([inputs.grad.numpy()] if grad else [])]

    compiled, python = on_both(program)
    assert same(compiled, python)


@pytest.mark.parametrize(
    "dims", [(0, 2, 3), (1, 3), (2, 3), (0, 1), (-1, 0), (0, 1, 2, 3), (3,), ()]
)
@pytest.mark.parametrize(
    "shape", [(2, 4, 2, 2), (3, 1, 5, 7), (1, 1, 1, 1), (4, 9, 1, 17), (2, 0, 1, 3)]
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("function", ["sum", "mean"])
def test_sums_over_dimensions(
    dims: tuple[int, ...], shape: tuple[int, ...], dtype: str, function: str
) -> None:
    values = np.random.default_rng(7).normal(size=shape).astype(dtype)
    values.reshape(-1)[5:6] = np.nan

    def program() -> list[Any]:
        inputs, found = torch.tensor(values, requires_grad=True), []
        for kept in (False, True):
            out = getattr(inputs, function)(dims, keepdim=kept)
            out.backward(torch.ones_like(out))
            found += [out.detach().numpy(), type(out.grad_fn).__name__]
        return [*found, inputs.grad.numpy()]

    compiled, python = on_both(program)
    assert same(compiled, python)


@pytest.mark.parametrize("dims", [(0, 0), (0, -2), (2,), (0, -3)])
def test_dimensions_that_there_are_not(dims: tuple[int, ...]) -> None:
    def program() -> str:
        with pytest.raises((RuntimeError, IndexError)) as found:
            torch.ones(2, 3).sum(dims)
        return repr(found.value)

    compiled, python = on_both(program)
    assert compiled == python
