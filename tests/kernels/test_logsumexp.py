"""logsumexp along rows beside its neutral twin, in every build."""

from __future__ import annotations

from collections.abc import Iterator
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
FLOATS = (np.float32, np.float64)
SHAPES = [(1100, 1), (400, 3), (80, 17), (9, 129), (1, 5000), (2, 3, 300)]


@pytest.fixture(params=() if rows is None else rows.builds())
def build(request: pytest.FixtureRequest) -> Iterator[str]:
    before = rows.use_build(request.param)
    yield request.param
    rows.use_build(before)


def numbers(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape) * 3, dtype)


def neutral(name: str, *arguments: Any) -> Any:
    """The neutral kernel in float64, where its own rounding does not matter."""
    wide = [x.astype(np.float64) if isinstance(x, np.ndarray) else x for x in arguments]
    with np.errstate(all="ignore"):
        return KERNELS[name][0](CPU.xp, *wide)


def close(found: Any, exact: Any) -> None:
    assert found.shape == exact.shape
    bound = 8 * np.finfo(found.dtype).eps
    np.testing.assert_allclose(found, exact, rtol=bound, atol=bound)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", SHAPES)
def test_odd_rows(build: str, shape: tuple[int, ...], dtype: Any) -> None:
    x, grad = numbers(shape, dtype), numbers(shape[:-1], dtype, 1)
    found = rows.logsumexp(x, -1, False)
    assert found.dtype == dtype and found.flags.writeable
    close(found, neutral("logsumexp", x, -1, False))
    kept = rows.logsumexp(x, (x.ndim - 1,), True)
    assert kept.shape == (*shape[:-1], 1) and kept.tobytes() == found.tobytes()
    slopes = rows.logsumexp_gradient(grad, x, found, -1, False)
    exact = neutral("_logsumexp_gradient", grad, x, found, -1, False)
    close(slopes, exact)
    again = rows.logsumexp_gradient(grad[..., None], x, kept, (-1,), True)
    assert again.tobytes() == slopes.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_other_layouts(build: str, dtype: Any) -> None:
    x, grad = numbers((60, 50), dtype), numbers((60,), dtype, 1)
    expected = rows.logsumexp(x, 1, False)
    slopes = rows.logsumexp_gradient(grad, x, expected, 1, False)
    shifted = np.zeros(x.nbytes + 1, np.uint8)[1:].view(dtype).reshape(x.shape)
    shifted[:] = x
    for other in (np.asfortranarray(x), x[::-1][::-1], np.repeat(x, 2, 1)[:, ::2], shifted):
        assert rows.logsumexp(other, 1, False).tobytes() == expected.tobytes()
        found = rows.logsumexp_gradient(grad, other, expected, 1, False)
        assert found.flags.c_contiguous and found.tobytes() == slopes.tobytes()


@pytest.mark.parametrize("dtype", FLOATS)
def test_infinities_and_nan(build: str, dtype: Any) -> None:
    inf, nan = np.inf, np.nan
    heads = [(-inf, -inf), (inf, 0), (inf, -inf), (inf, inf), (nan, 0), (nan, inf), (1e4, -1e4)]
    for head in heads:
        x = np.full((40, 67), -inf if head == (-inf, -inf) else 0.5, dtype)
        x[:, 0], x[:, 33] = head
        found = rows.logsumexp(x, -1, False)
        exact = neutral("logsumexp", x, -1, False)
        close(found, exact)
        slopes = rows.logsumexp_gradient(found, x, found, -1, False)
        close(slopes, neutral("_logsumexp_gradient", found, x, found, -1, False))


def test_what_is_declined() -> None:
    x = numbers((40, 50), np.float32)
    level = rows.logsumexp(x, -1, False)
    for dim in (0, -2, (0, 1), None, 1.0):
        assert rows.logsumexp(x, dim, False) is None
        assert rows.logsumexp_gradient(level, x, level, dim, False) is None
    for other in (x[:20], x.astype(np.float16), x.astype(int), x[:0], x.tolist()):
        assert rows.logsumexp(other, -1, False) is None  # short, or of another type
    for other in (level[:-1], level.astype(np.float64), np.repeat(level, 2)[::2], None):
        assert rows.logsumexp_gradient(other, x, level, -1, False) is None
        assert rows.logsumexp_gradient(level, x, other, -1, False) is None
    with pytest.raises(TypeError, match="takes 3 arguments"):
        rows.logsumexp(x)


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("shape", [(3, 5), (1100, 3), (64, 80)])
def test_gradients(shape: tuple[int, int], keepdim: bool) -> None:
    """As through the softmax that it is, the second ones too."""
    x = torch.tensor(numbers(shape, np.float64)).requires_grad_()
    (slope,) = torch.autograd.grad(x.logsumexp(-1, keepdim).sum(), x, create_graph=True)
    assert torch.allclose(slope, x.softmax(-1))
    first = torch.autograd.grad((slope * slope).sum(), x)[0]
    second = torch.autograd.grad((x.softmax(-1) ** 2).sum(), x)[0]
    assert torch.allclose(first, second)


@pytest.mark.parametrize("count", [1, 3])
def test_threads_change_no_bit(count: int) -> None:
    x, before = numbers((300, 400), np.float32), torch.get_num_threads()
    expected = rows.logsumexp(x[:1].repeat(3, 0), -1, False)[0]
    torch.set_num_threads(count)
    try:
        found = rows.logsumexp(x, -1, False)
        assert found[0] == expected
        slopes = rows.logsumexp_gradient(found, x, found, -1, False)
        assert (
            slopes[7] == rows.logsumexp_gradient(found[5:9], x[5:9], found[5:9], -1, False)[2]
        ).all()
    finally:
        torch.set_num_threads(before)
