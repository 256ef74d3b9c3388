"""Composites under vmap in the less simple ways: some arguments batched, two levels, two orders.

`test_vmap_sweep` has every op and sample with one level and one order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import retrograd as torch
from retrograd.ops.registry import COMPOSITES
from retrograd.samples import Sample, T
from tests.func.batches import REFUSED, SIZE, Batch, compare, leaves_of
from tests.ops.compare import function_of

pytestmark = pytest.mark.slow

# What has no derivative, or not that of this argument; what writes into the leaves themselves.
_NOT_HERE = (
    *("the derivative for", "The function '", "a leaf Variable that requires grad"),
    *("Trying to use forward AD with", "unsupported operation: more than one element"),
    "scatter_reduce(): Double backward is unsupported",
)
# joint by design, as in PyTorch: the frequencies are those of the whole batch
_JOINT = "scale_grad_by_freq"

# where no sample at all can be compared
NEVER = (
    "special.zeta",
    "nn.functional.rrelu",
    "torch.rrelu",
    "torch.ctc_loss",
    "nn.functional.ctc_loss",
    "torch.segment_reduce",  # of lengths that differ between examples
)

CASES = {name: entry.samples for name, entry in COMPOSITES.items() if entry.samples is not None}


def _batches(name: str) -> list[tuple[Any, Batch, list[int]]]:
    """The samples that can be differentiated, and which tensors of each are floating."""
    function = function_of(name, torch)
    found = []
    for sample in CASES[name]():
        if sample.error is not None or not sample.grad or "float64" not in sample.dtypes:
            continue
        batch = Batch(sample, "float64")
        leaves = _leaves(sample, batch)
        if leaves and _JOINT not in sample.kwargs and _works(function, batch, leaves):
            found.append((function, batch, leaves))
    return found


def _leaves(sample: Sample, batch: Batch) -> list[int]:
    """The tensors that the sample wants differentiated."""
    declared = _declared([*sample.args, *sample.kwargs.values()])
    pairs = enumerate(zip(declared, batch.tensors, strict=True))
    return [k for k, (t, e) in pairs if t.grad and e[0].dtype.is_floating_point]


def _declared(values: Any) -> list[T]:
    found: list[T] = []
    for value in values:
        if isinstance(value, T):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += _declared(value)
    return found


def _works(function: Any, batch: Batch, leaves: list[int]) -> bool:
    """Whether the sample gives real numbers that depend on its tensors."""
    try:
        given = [e[0].clone().requires_grad_(k in leaves) for k, e in enumerate(batch.tensors)]
        return bool(_real(batch.call(function, given)))
    except Exception:
        return False


def _real(result: Any) -> list[Any]:
    """The floating results that have a gradient."""
    found = [x for x in leaves_of(result) if isinstance(x, torch.Tensor)]
    return [x for x in found if x.dtype.is_floating_point and x.requires_grad]


def _weighted(results: list[Any]) -> Any:
    """One number of several results, with a weight for each of their elements."""
    total: Any = 0.0
    for number, x in enumerate(results):
        weights = torch.arange(1.0, x.numel() + 1, dtype=x.dtype).cos() + 1.5 + number
        total = total + (x * weights.reshape(x.shape)).sum()
    return total


def _attempt(check: Callable[..., None], function: Any, batch: Batch, *more: Any) -> bool:
    """Whether there was something to compare."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            check(function, batch, *more)
        except (RuntimeError, NotImplementedError) as error:
            if not str(error).startswith((*REFUSED, *_NOT_HERE)):
                raise AssertionError(f"{batch.sample}: {error}") from error
            return False
    return True


def _settle(name: str, outcomes: list[bool]) -> None:
    """Something was compared, unless there was nothing to do, which is skipped and so seen."""
    if not outcomes or name in NEVER:
        pytest.skip("no sample that can be compared")
    assert any(outcomes)


def _replaced(tensors: Any, leaves: list[int], values: Any) -> list[Any]:
    every = list(tensors)
    for k, value in zip(leaves, values, strict=True):
        every[k] = value
    return every


# ----------------------------------------------------------------- some of the arguments batched


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_a_mixed_call(name: str) -> None:
    """One argument is the same for all examples, as the weights of a layer are."""
    outcomes = []
    for function, batch, leaves in _batches(name):
        count = len(batch.tensors)
        for alone in range(count) if count > 1 else ():
            dims = tuple(None if k == alone else 0 for k in range(count))
            outcomes.append(_attempt(_compare_gradients, function, batch, leaves, dims))
    _settle(name, outcomes)


def _compare_gradients(function: Any, batch: Batch, leaves: list[int], dims: Any) -> None:
    def gradients(*tensors: Any) -> Any:
        def loss(*given: Any) -> Any:
            results = _real(batch.call(function, _replaced(tensors, leaves, given)))
            return _weighted(results) if results else (given[0] * 0).sum()

        return torch.func.grad(loss, tuple(range(len(leaves))))(*[tensors[k] for k in leaves])

    rows = []
    for example in range(SIZE):
        chosen = [e[example if dim == 0 else 0] for e, dim in zip(batch.tensors, dims, strict=True)]
        rows.append(gradients(*[x.clone() for x in chosen]))
    expected = [torch.stack(list(column)) for column in zip(*rows, strict=True)]
    inputs = [
        torch.stack(e) if dim == 0 else e[0].clone()
        for e, dim in zip(batch.tensors, dims, strict=True)
    ]
    inside = list(torch.vmap(gradients, dims)(*[x.clone() for x in inputs]))
    compare(inside, expected, 1000.0)

    for k in leaves:
        inputs[k].requires_grad_()
    losses = torch.vmap(lambda *t: _weighted(_real_of_batch(batch.call(function, t))), dims)
    wanted = [inputs[k] for k in leaves]
    found = torch.autograd.grad(losses(*inputs).sum(), wanted, materialize_grads=True)
    summed = [e if dims[k] == 0 else e.sum(0) for k, e in zip(leaves, expected, strict=True)]
    compare(list(found), summed, 1000.0)


def _real_of_batch(result: Any) -> list[Any]:
    """The results with a gradient outside of the innermost vmap."""
    found = [x for x in leaves_of(result) if isinstance(x, torch.Tensor)]
    return [x for x in found if x.dtype.is_floating_point and _physical(x).requires_grad]


def _physical(tensor: Any) -> Any:
    return tensor._physical if tensor._level else tensor


# ------------------------------------------------------------------------- two levels, two orders


@pytest.mark.parametrize("name", CASES)
def test_two_levels(name: str) -> None:
    """`vmap(vmap(f))`, and the batch of the inner one behind that of the outer one."""
    outcomes = [_attempt(_compare_levels, function, batch) for function, batch, _ in _batches(name)]
    _settle(name, outcomes)


def _compare_levels(function: Any, batch: Batch) -> None:
    def one(*tensors: Any) -> Any:
        found = leaves_of(batch.call(function, [x.clone() for x in tensors]))
        return tuple(x for x in found if isinstance(x, torch.Tensor))

    orders = ((0, 1), (1, 1), (1, 0))
    inputs = [
        torch.stack([torch.stack([examples[i], examples[j]]) for i, j in orders])
        for examples in batch.tensors
    ]
    rows = [[one(*[x[i, j] for x in inputs]) for j in range(2)] for i in range(3)]
    columns = [list(zip(*row, strict=True)) for row in rows]
    expected = [
        torch.stack([torch.stack(list(row[k])) for row in columns]) for k in range(len(rows[0][0]))
    ]
    compare(list(torch.vmap(torch.vmap(one))(*inputs)), expected)
    compare(list(torch.vmap(torch.vmap(one, 0), 1, 1)(*inputs)), expected)


@pytest.mark.parametrize("name", CASES)
def test_second_order(name: str) -> None:
    """`vmap` over products with the Hessian, reverse over reverse."""
    outcomes = [
        _attempt(_compare_hessian, function, batch, leaves[0])
        for function, batch, leaves in _batches(name)
        if batch.sample.second
    ]
    _settle(name, outcomes)


def _compare_hessian(function: Any, batch: Batch, leaf: int) -> None:
    def product(*tensors: Any) -> Any:
        def loss(x: Any) -> Any:
            results = _real(batch.call(function, _replaced(tensors, [leaf], [x * 1.0])))
            return _weighted([r * r for r in results]) if results else (x * 0).sum()

        x = tensors[leaf]
        _, pull = torch.func.vjp(torch.func.grad(loss), x)
        return pull(torch.ones_like(x))[0]

    rows = [product(*[e[example].clone() for e in batch.tensors]) for example in range(SIZE)]
    found = torch.vmap(product)(*[torch.stack(e) for e in batch.tensors])
    compare([found], [torch.stack(rows)], 10000.0)


@pytest.mark.parametrize("name", CASES)
def test_tangents(name: str) -> None:
    """`vmap(jvp(f))`."""
    outcomes = [
        _attempt(_compare_tangents, function, batch, leaves)
        for function, batch, leaves in _batches(name)
    ]
    _settle(name, outcomes)


def _compare_tangents(function: Any, batch: Batch, leaves: list[int]) -> None:
    def tangents(*tensors: Any) -> Any:
        def results(*given: Any) -> Any:
            found = leaves_of(batch.call(function, _replaced(tensors, leaves, given)))
            floating = [x for x in found if isinstance(x, torch.Tensor)]
            return tuple(x for x in floating if x.dtype.is_floating_point)

        primals = tuple(tensors[k] * 1.0 for k in leaves)
        return torch.func.jvp(results, primals, tuple(x.cos() for x in primals))[1]

    rows = [tangents(*[e[example].clone() for e in batch.tensors]) for example in range(SIZE)]
    expected = [torch.stack(list(column)) for column in zip(*rows, strict=True)]
    found = torch.vmap(tangents)(*[torch.stack(e) for e in batch.tensors])
    compare(list(found), expected, 1000.0)
