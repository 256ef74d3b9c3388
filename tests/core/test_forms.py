"""Indices, shapes, lists of tensors, several results: in C and in Python the same."""

import gc
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import retrograd as torch
from retrograd import core
from retrograd.tensor import Tensor
from tests.core.facts import in_python, outcome

F = torch.nn.functional

pytestmark = pytest.mark.skipif(not core.AVAILABLE, reason="the compiled core is missing")


def starting_values(dtype: Any = torch.float32) -> list[Tensor]:
    base = (torch.arange(24) % 7 - 3).to(dtype).reshape(2, 3, 4)
    leaf = base.clone().requires_grad_()
    with torch.no_grad():
        unrecorded = leaf[0]
    written = (leaf * 1.0)[1]
    written._base.mul_(2.0)
    return [
        *(base, leaf, leaf * 2.0, base[0], leaf[1], base.transpose(0, 2), leaf.permute(2, 0, 1)),
        *(unrecorded, written, base[0, 0], leaf.sum(), torch.zeros(0, 3, dtype=dtype)),
        *(base[0].expand(5, 3, 4), (leaf * 2.0).detach(), torch.nn.Parameter(base[0].clone())),
        *(torch.arange(6).reshape(2, 3), base > 0, base.double().requires_grad_()),
    ]


def compare(call: Callable[[Tensor], Any], tensor: int, enabled: bool, backward: bool) -> None:
    def run() -> Any:
        values = starting_values()

        def work() -> Any:
            with torch.set_grad_enabled(enabled):
                return call(values[tensor])

        seen = [outcome(work)]
        if backward:
            seen.append(outcome(lambda: gradient_of(work(), values[1])))
        return seen

    assert run() == in_python(run)


def gradient_of(result: Any, leaf: Tensor) -> Any:
    parts = [r for r in (result if isinstance(result, tuple) else (result,)) if r.requires_grad]
    sum((part * part).sum() for part in parts).backward()
    return leaf.grad


TENSORS = st.integers(0, len(starting_values()) - 1)

# --------------------------------------------------------------------------------------- brackets

NUMBERS = st.sampled_from([0, 1, -1, 2, -2, 5, -5, None, 2**70, True])
SLICES = st.builds(slice, NUMBERS, NUMBERS, st.sampled_from([None, 1, 2, 3, 0, -1, True]))
ITEMS = st.one_of(
    st.sampled_from([0, 1, -1, 2, -3, 7, None, ..., True, 1.5, "a", 2**70]),
    SLICES,
    st.sampled_from([slice(None), slice(0, None), slice(None, 9), slice(1, None), slice(None, -1)]),
)
INDICES = st.one_of(ITEMS, st.lists(ITEMS, max_size=4).map(tuple))


@settings(max_examples=400, deadline=None)
@given(INDICES, TENSORS, st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_brackets(index: Any, tensor: int, enabled: bool, backward: bool) -> None:
    compare(lambda x: x[index], tensor, enabled, backward)


@pytest.mark.parametrize(
    "index",
    [
        lambda: torch.tensor([0, 1, 1]),
        lambda: torch.tensor([[0, -1], [1, 0]]),
        lambda: torch.tensor([5]),
        lambda: torch.tensor([-9]),
        lambda: torch.tensor(1),
        lambda: torch.tensor([1, 0, 1], dtype=torch.int32),
        lambda: torch.tensor([True, False]),
        lambda: torch.tensor([True, False, True]),
        lambda: torch.tensor(True),
        lambda: torch.zeros(0, dtype=torch.int64),
        lambda: torch.arange(4)[::2],
        lambda: torch.tensor([0.5]),
        lambda: torch.nn.Parameter(torch.tensor([0, 1]), requires_grad=False),
        lambda: [0, 1],
        lambda: (torch.tensor([0, 1]), 0),
        lambda: (slice(None), torch.tensor([0, 1])),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_brackets_with_tensors(index: Callable[[], Any]) -> None:
    for tensor in range(len(starting_values())):
        compare(lambda x: x[index()], tensor, True, True)


# ----------------------------------------------------------------------------------------- shapes

SIZES = st.lists(st.sampled_from([1, 2, 3, 4, 6, 12, 24, -1, 0, -2, True, 2.0, 2**70]), max_size=4)
SIZED: dict[str, Callable[[Tensor, list[Any]], Any]] = {
    "view": lambda x, sizes: x.view(*sizes),
    "view tuple": lambda x, sizes: x.view(tuple(sizes)),
    "view Size": lambda x, sizes: x.view(torch.Size(s for s in sizes if type(s) is int)),
    "view_as": lambda x, sizes: x.view_as(torch.ones(4, 6)),
    "reshape": lambda x, sizes: x.reshape(*sizes),
    "reshape list": lambda x, sizes: x.reshape(list(sizes)),
    "reshape named": lambda x, sizes: x.reshape(shape=tuple(sizes)),
    "reshape function": lambda x, sizes: torch.reshape(x, tuple(sizes)),
    "reshape wrong": lambda x, sizes: torch.reshape(x, *sizes),
    "expand": lambda x, sizes: x.expand(*sizes),
    "expand tuple": lambda x, sizes: x.expand(tuple(sizes)),
    "expand more": lambda x, sizes: x.expand(2, *x.shape),
    "expand all": lambda x, sizes: x.unsqueeze(-1).expand(*[-1] * x.ndim, 3),
    "permute": lambda x, sizes: x.permute(*sizes),
    "permute function": lambda x, sizes: torch.permute(x, tuple(sizes)),
    "turned": lambda x, sizes: x.permute(*range(x.ndim)[::-1]),
    "turned negative": lambda x, sizes: x.permute([-1, *range(x.ndim - 1)]),
    "flatten": lambda x, sizes: x.flatten(),
    "flatten dims": lambda x, sizes: x.flatten(*sizes[:2]),
    "flatten function": lambda x, sizes: torch.flatten(x, 1),
    "transpose": lambda x, sizes: x.transpose(*sizes[:2]),
    "swapped": lambda x, sizes: x.transpose(0, -1),
    "squeeze": lambda x, sizes: x.unsqueeze(0).squeeze(0),
    "T": lambda x, sizes: x.T,
    "mT": lambda x, sizes: x.mT,
}


@settings(max_examples=400, deadline=None)
@given(st.sampled_from(sorted(SIZED)), SIZES, TENSORS, st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_shapes(name: str, sizes: list[Any], tensor: int, enabled: bool, backward: bool) -> None:
    compare(lambda x: SIZED[name](x, sizes), tensor, enabled, backward)


# ------------------------------------------------------------- lists, several results, reductions

DIMS = st.sampled_from([0, 1, 2, -1, -2, -3, 5, None, True, (0, 1), 2**70])
MANY: dict[str, Callable[[Tensor, Any], Any]] = {
    "cat": lambda x, dim: torch.cat([x, x * 2, x], dim),
    "cat named": lambda x, dim: torch.cat((x, x.detach()), dim=dim),
    "cat first": lambda x, dim: torch.cat([x, x]),
    "cat pieces": lambda x, dim: torch.cat(x.unbind(), -1),
    "cat outputs": lambda x, dim: torch.cat([*x.unbind()[1:], x[0]]),
    "cat unlike": lambda x, dim: torch.cat([x, torch.ones(2, 3)], dim),
    "cat dtypes": lambda x, dim: torch.cat([x, x.double()], 0),
    "cat empty": lambda x, dim: torch.cat([x, torch.zeros(0)], 0),
    "cat one": lambda x, dim: torch.cat([x], dim),
    "cat nothing": lambda x, dim: torch.cat([], dim),
    "cat wrong": lambda x, dim: torch.cat([x, 3], dim),
    "cat tensor": lambda x, dim: torch.cat(x, dim),
    "cat generator": lambda x, dim: torch.cat((y for y in (x, x)), dim),
    "cat out": lambda x, dim: torch.cat([x.detach(), x.detach()], out=torch.ones(1)),
    "stack": lambda x, dim: torch.stack([x, x], dim),
    "stack first": lambda x, dim: torch.stack((x, x * 2.0, x)),
    "stack last": lambda x, dim: torch.stack([x, x], dim=-1),
    "stack unlike": lambda x, dim: torch.stack([x, x[0]]),
    "unbind": lambda x, dim: x.unbind(dim),
    "split": lambda x, dim: x.split(2, dim),
    "split sizes": lambda x, dim: x.split([1, 2], 1),
    "chunk": lambda x, dim: x.chunk(2, dim),
    "max": lambda x, dim: x.max(dim),
    "max kept": lambda x, dim: torch.max(x, dim, keepdim=True),
    "min": lambda x, dim: x.min(dim=dim),
    "sort": lambda x, dim: x.sort(dim),
    "topk": lambda x, dim: x.topk(1, dim),
    "var_mean": lambda x, dim: torch.var_mean(x, dim),
    "argmax": lambda x, dim: x.argmax(dim),
    "argmin": lambda x, dim: x.argmin(dim, True),
    "isnan": lambda x, dim: x.isnan(),
    "sum": lambda x, dim: x.sum(dim),
    "sum kept": lambda x, dim: x.sum(dim, True),
    "sum named": lambda x, dim: x.sum(keepdim=True, dim=dim),
    "sum axis": lambda x, dim: x.sum(axis=dim),
    "sum dtype": lambda x, dim: x.sum(dim, dtype=torch.float64),
    "sum wrong": lambda x, dim: x.sum(dim, dim=dim),
    "sum all kept": lambda x, dim: x.sum(keepdim=True),
    "mean": lambda x, dim: x.mean(dim),
    "mean kept": lambda x, dim: torch.mean(x, dim, keepdim=True),
    "mean of zeros": lambda x, dim: (x * -0.0).mean(dim),
    "index_select": lambda x, dim: x.index_select(dim, torch.tensor([1, 0, 1])),
    "index_select rows": lambda x, dim: torch.index_select(x, 0, torch.tensor([0, 0])),
    "index_select bad": lambda x, dim: x.index_select(0, torch.tensor([-1])),
    "embedding": lambda x, dim: F.embedding(torch.tensor([[0, 1], [1, 1]]), x),
    "embedding bad": lambda x, dim: F.embedding(torch.tensor([-1, 7]), x),
    "clamp": lambda x, dim: x.clamp(-1, 1.5),
    "clamp low": lambda x, dim: x.clamp(min=0),
    "clamp high": lambda x, dim: torch.clamp(x, max=-0.0),
    "clamp dim": lambda x, dim: x.clamp(dim),
    "clamp turned": lambda x, dim: x.clamp(2, 1),
    "clamp odd": lambda x, dim: x.clamp(float("nan"), 1e300),
    "clamp tensor": lambda x, dim: x.clamp(x * 0, max=x),
    "clamp nothing": lambda x, dim: x.clamp(),
    "clamp wrong": lambda x, dim: x.clamp(1, min=2),
    "clamp of nan": lambda x, dim: (x / 0.0).clamp(-1, 1),
    "square": lambda x, dim: x**2,
    "cube": lambda x, dim: x.pow(3),
    "power": lambda x, dim: x**dim,
    "power 2.0": lambda x, dim: torch.pow(x, 2.0),
    "power named": lambda x, dim: torch.pow(x, exponent=2),
    "where": lambda x, dim: torch.where(x > 0, x, -x),
    "where number": lambda x, dim: torch.where(x > 0, x, 0.5),
    "where first": lambda x, dim: torch.where(x > 0, 2, x),
    "where broadcast": lambda x, dim: torch.where(x > 0, x, x.sum()),
    "where mixed": lambda x, dim: torch.where(x > 0, x, x.double()),
    "where alone": lambda x, dim: torch.where(x > 0),
    "where ints": lambda x, dim: torch.where(x, x, 0.5),
    "sigmoid": lambda x, dim: x.sigmoid(),
    "sigmoid far": lambda x, dim: torch.sigmoid(x * 1000),
    "detach": lambda x, dim: x.detach(),
    "detach twice": lambda x, dim: (x * 1).detach().detach(),
    "data": lambda x, dim: x.data,
    "data of a view": lambda x, dim: x[0].data,
    "nll_loss": lambda x, dim: F.nll_loss(x, torch.tensor([0, 2, 1])),
    "nll_loss sum": lambda x, dim: F.nll_loss(x, torch.tensor([3, 3, 0]), reduction="sum"),
    "nll_loss none": lambda x, dim: F.nll_loss(x, torch.tensor([0, 1, 1]), reduction="none"),
    "nll_loss ignoring": lambda x, dim: F.nll_loss(x, torch.tensor([0, 1, 1]), ignore_index=1),
    "nll_loss left out": lambda x, dim: F.nll_loss(x, torch.tensor([0, -100, 1])),
    "nll_loss outside": lambda x, dim: F.nll_loss(x, torch.tensor([0, 1, 9])),
    "nll_loss images": lambda x, dim: F.nll_loss(x, torch.ones(2, 4, dtype=torch.int64)),
    "cross_entropy": lambda x, dim: F.cross_entropy(x, torch.tensor([0, 2, 1])),
    "matmul": lambda x, dim: torch.matmul(x, x.mT),
    "matmul method": lambda x, dim: x.matmul(torch.ones(4, 2)),
    "matmul named": lambda x, dim: torch.matmul(x, other=x),
    "matmul wrong": lambda x, dim: torch.matmul(x, 2),
    "layer_norm": lambda x, dim: F.layer_norm(x, x.shape[-1:]),
}


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(sorted(MANY)), DIMS, TENSORS, st.booleans(), st.booleans())
@pytest.mark.filterwarnings("ignore")
def test_many(name: str, dim: Any, tensor: int, enabled: bool, backward: bool) -> None:
    compare(lambda x: MANY[name](x, dim), tensor, enabled, backward)


@pytest.mark.filterwarnings("ignore")
def test_every_form_once() -> None:
    for call in (*SIZED.values(), *MANY.values()):
        argument: Any = [2, -1] if call in SIZED.values() else -1
        for tensor in (0, 2, 3, 6):
            compare(lambda x, call=call, a=argument: call(x, a), tensor, True, True)


def test_writing_a_piece_is_refused() -> None:
    def program() -> Any:
        x = torch.ones(2, 2, requires_grad=True) * 1.0
        first, _ = x.unbind()
        return first.add_(1.0)

    assert outcome(program) == in_python(lambda: outcome(program))


# ------------------------------------------------------------------------------------------ memory


def test_nothing_leaks() -> None:
    a, leaf = torch.ones(2, 3), torch.ones(2, 3, requires_grad=True)
    rows, shape = torch.tensor([0, 1]), (3, 2)
    calls: list[Callable[[], Any]] = [
        lambda: (leaf[:, 0], leaf[..., 1:], leaf[:, None], leaf[0, 1], leaf[rows], leaf[a > 0]),
        lambda: (leaf.view(3, 2), leaf.reshape(shape), leaf.flatten(), a.view(-1)),
        lambda: (leaf.expand(2, 2, 3), leaf.permute(1, 0), leaf.transpose(0, 1)),
        lambda: (torch.cat([a, leaf]), torch.stack((leaf, a), 1), torch.cat([a, a])),
        lambda: (leaf.unbind(), a.unbind(1), leaf.split(1), leaf.chunk(2)),
        lambda: (leaf.max(1), leaf.sort(), a.topk(1), leaf.argmax(1), a.isnan()),
        lambda: (leaf.sum(1), leaf.mean(0, keepdim=True), leaf.index_select(0, rows)),
        lambda: torch.cat([a, torch.ones(3)]),
        lambda: leaf[7],
        lambda: leaf.view(5),
        lambda: leaf[:, "a"],
    ]

    def work() -> None:
        for call in calls:
            for enabled in (True, False):
                try:
                    with torch.set_grad_enabled(enabled):
                        call()
                except (RuntimeError, IndexError, TypeError):
                    pass

    def counts() -> list[int]:
        things = (a, leaf, rows, shape, a._array, leaf._array, rows._array, a._array.dtype)
        return [sys.getrefcount(thing) for thing in things]

    for _ in range(20):
        work()
    gc.collect()
    before, objects = counts(), len(gc.get_objects())
    for _ in range(200):
        work()
    gc.collect()
    assert counts() == before
    assert abs(len(gc.get_objects()) - objects) < 50
