"""Long chains of views, each written in place: PyTorch's gradients, at a cost that stays."""

import random

import pytest

import retrograd


def _steps(seed: int, count: int) -> list[tuple[str, int]]:
    draw = random.Random(seed)
    names = ("flat", "turn", "fold", "skip", "unsqueeze", "write", "write", "square")
    return [(draw.choice(names), draw.randrange(3)) for _ in range(count)]


def _value_and_gradient(t, seed: int, count: int = 60):
    """A tensor written through views of views of it, and the gradient of where it came from."""
    x = t.arange(1.0, 13.0, dtype=t.float64).div(12).requires_grad_()
    base = x * 1
    view = base
    views = [base]
    for name, number in _steps(seed, count):
        if name == "flat" and view.is_contiguous():
            view = view.view(-1)
        elif name == "turn" and view.ndim > 1:
            view = view.transpose(0, -1)
        elif name == "fold" and view.ndim == 1 and view.shape[0] % 2 == 0:
            view = view.unflatten(0, (2, -1))
        elif name == "skip" and view.ndim and view.shape[0] > 3:
            view = view[number % 2 :: 1]
        elif name == "unsqueeze" and view.ndim < 4:
            view = view.unsqueeze(0)
        elif name == "write":
            view.mul_(0.5 + number / 4)
        elif name == "square":
            view.pow_(2)
        views.append(view)
    (base.sum() + views[len(views) // 2].sin().sum() + view.cos().sum()).backward()
    return base.tolist(), x.grad.tolist()


@pytest.mark.torch
@pytest.mark.parametrize("seed", range(25))
def test_gradients_of_long_chains(seed):
    import torch

    for ours, expected in zip(
        _value_and_gradient(retrograd, seed), _value_and_gradient(torch, seed), strict=True
    ):
        assert ours == pytest.approx(expected, rel=1e-12)


def test_the_way_to_a_base_stays_short():
    base = retrograd.ones(4, requires_grad=True) * 1
    view = base
    for _ in range(300):
        view = view.view(4)
        view.mul_(1.0)
        assert len(view._view.chain) < 20
    base.sum().backward()


def test_views_of_another_dtype_keep_their_chain():
    x = retrograd.ones(4, dtype=retrograd.complex64, requires_grad=True)
    base = x * 1
    view = base
    for _ in range(6):
        view = retrograd.view_as_complex(retrograd.view_as_real(view))
    part = retrograd.view_as_real(view)
    for _ in range(12):
        part = part.view(4, 2)
    part[:, 0].mul_(3.0)
    base.real.sum().backward()
    assert x.grad.tolist() == [3 + 0j] * 4
