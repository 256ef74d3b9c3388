"""Second derivatives through slices that were written, and writes to tensors of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.autograd.outcomes import Log, assert_same

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def _derivatives(t: Any, log: Log, result: Any, leaf: Any, times: int = 3) -> None:
    """The gradient of the sum of squares, that of the gradient's, and so on."""
    for _ in range(times):
        (result,) = t.autograd.grad((result * result).sum(), leaf, create_graph=True)
        log(result.detach())
    (last,) = t.autograd.grad((result * result).sum(), leaf)
    log(last)


def views_nobody_holds(t: Any, log: Log) -> None:
    """The op saved its result, which is the view: `x[1:3].exp_()` lets go of it at once."""
    for name in ("exp_", "sigmoid_", "tanh_", "sqrt_", "rsqrt_", "reciprocal_", "sin_"):
        leaf = t.tensor([0.5, 0.25, 0.75, 0.5], dtype=t.float64, requires_grad=True)
        x = leaf.clone()
        getattr(x[1:3], name)()
        _derivatives(t, log, x, leaf, 2)
    leaf = t.tensor([0.5, -0.25, 0.75, 0.5], dtype=t.float64, requires_grad=True)
    x = leaf.clone()
    t.nn.functional.elu(x.narrow(0, 1, 2), inplace=True)
    _derivatives(t, log, x, leaf)


def views_of_views(t: Any, log: Log) -> None:
    """The way to the region has several steps, and the base is not the leaf's copy."""
    leaf = t.tensor([0.5, 0.25, 0.75, 0.5], dtype=t.float64, requires_grad=True)
    x = leaf * leaf.sum()
    x.view(2, 2).t()[0].exp_()
    _derivatives(t, log, x, leaf, 2)


def views_that_stay(t: Any, log: Log) -> None:
    """The same while somebody has the view, and uses it."""
    leaf = t.tensor([0.5, 0.25, 0.75, 0.5], dtype=t.float64, requires_grad=True)
    x = leaf.clone()
    part = x[1:3]
    part.exp_()
    _derivatives(t, log, x + part.sum(), leaf, 2)


def checked_by_differences(t: Any, log: Log) -> None:
    def write(root: Any) -> Any:
        x = root.clone()
        x[1:].sigmoid_()
        return x

    leaf = t.tensor([0.5, 0.25, 0.75], dtype=t.float64, requires_grad=True)
    log(t.autograd.gradcheck(write, [leaf]), t.autograd.gradgradcheck(write, [leaf]))


def numbers_written(t: Any, log: Log) -> None:
    """The gradient of what was overwritten is zero, also where it is a single number."""
    first, places = t.tensor(0), t.tensor([0])
    for kind in (t.float64, t.complex128):
        x = t.tensor(2.0, dtype=kind, requires_grad=True)
        y = t.tensor(3.0, dtype=kind, requires_grad=True)
        results = (
            t.scatter(x, 0, first, y),
            t.scatter(x, 0, first, 4.0),
            t.index_copy(x, 0, places, y),
            t.index_fill(x, 0, places, 4.0),
            t.index_fill(x, 0, places, y),
            t.index_add(x, 0, places, y),
            t.put(x, first, y),
            t.put(x, first, y, accumulate=True),
            t.masked_fill(x, t.tensor(True), 4.0),
        )
        for result in results:
            loss = (result * result.conj()).real
            log(result, t.autograd.grad(loss, [x, y], allow_unused=True))


SCENARIOS: tuple[Callable[[Any, Log], None], ...] = (
    views_nobody_holds, views_of_views, views_that_stay, checked_by_differences, numbers_written,
)  # fmt: skip


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_like_torch(scenario: Callable[[Any, Log], None]) -> None:
    assert_same(scenario, torch)
