"""The loss of a classifier in C: NumPy's bits, and the neutral kernel for all that is unusual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import retrograd as torch
from retrograd.backend import CPU
from retrograd.backend.cpu_rows import rows
from retrograd.backend.device import KERNELS

pytestmark = [
    pytest.mark.kernels,
    pytest.mark.skipif(rows is None, reason="the kernels for rows are not in use here"),
]
REDUCTIONS = (0, 1, 2)  # none, mean, sum


def scores(count: int, classes: int, dtype: Any) -> tuple[Any, Any]:
    generator = np.random.default_rng(count)
    found = generator.standard_normal((count, classes)).astype(dtype)
    found[0, 0], found[-1, -1] = np.inf, np.nan
    return found, generator.integers(0, classes, count)


def neutral(name: str, *arguments: Any) -> Any:
    return KERNELS[name][0](CPU.xp, *arguments)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize(("count", "classes"), [(1, 1), (3, 10), (32, 10), (257, 20), (1000, 3)])
def test_nll_loss(count: int, classes: int, reduction: int, dtype: Any) -> None:
    input, target = scores(count, classes, dtype)
    found = rows.nll_loss(input, target, None, reduction, -100)
    wanted = neutral("_nll_loss", input, target, None, reduction, -100)
    assert found.dtype == dtype and found.shape == wanted.shape
    assert np.array_equal(found, wanted, equal_nan=True)
    grad = np.asarray(np.linspace(1, 3, count) if reduction == 0 else 1.5, dtype)
    found = rows.nll_loss_gradient(grad, input, target, None, reduction, -100)
    wanted = neutral("_nll_loss_gradient", grad, input, target, None, reduction, -100)
    assert found.dtype == dtype and found.tobytes() == wanted.tobytes()


def test_what_is_left_to_the_neutral_kernel() -> None:
    input, target = scores(4, 5, np.float32)
    shifted = np.zeros(input.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(4, 5)
    usual = (input, target, None, 1, -100)
    assert rows.nll_loss(*usual) is not None
    for place, others in {
        0: (input.astype(np.float16), input[0], input[:, ::-1], shifted, input[:2], input[None]),
        1: (target + 1000, target - 5, target.astype(np.uint8), target[:3], target[:, None]),
        2: (np.ones(5, np.float32),),
        3: (7, -1, 1.0, 2**70),
        4: (3, 2**70, None),
    }.items():
        for other in others:
            given = [*usual[:place], other, *usual[place + 1 :]]
            assert rows.nll_loss(*given) is None
            assert rows.nll_loss_gradient(np.float32([1.0]).reshape(()), *given) is None
    for grad in (np.ones(4, np.float32), np.ones((), np.float64), np.ones((), np.float16), 1.0):
        assert rows.nll_loss_gradient(grad, *usual) is None
    empty = np.zeros((0, 5), np.float32), target[:0], None, 1, -100
    assert rows.nll_loss(*empty) is None


def test_ops_raise_and_ignore_as_before() -> None:
    input = torch.randn(300, 5)
    target = torch.arange(300) % 5
    loss = torch.nn.functional.nll_loss
    with pytest.raises(IndexError, match="out of bounds"):
        loss(input, target + 1)
    kept = target != 2
    found = loss(input, target, ignore_index=2)
    assert found.item() == pytest.approx(loss(input[kept], target[kept]).item(), rel=1e-6)
