"""Random small programs for tests of retention: lists of steps on a growing list of values.

A step names what it does and which values it takes, so that one program can be run again from the
same leaves: with another way of keeping its graph it has to give the same gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

import retrograd as torch

F = torch.nn.functional


class Cube(torch.autograd.Function):
    """Saves its input, and multiplies by a number that is no tensor."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * x * x * factor

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x * ctx.factor, None


class Squash(torch.autograd.Function):
    """Saves its output, in the style with `setup_context`."""

    @staticmethod
    def forward(x: Any) -> Any:
        return x.tanh()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (y,) = ctx.saved_tensors
        return gradient * (1 - y * y)


class Pair(torch.autograd.Function):
    """Two outputs, of which it saves the second, and an argument without history."""

    @staticmethod
    def forward(ctx: Any, x: Any, scale: Any) -> Any:
        first, second = x * scale, (x * 0.1).exp()
        ctx.save_for_backward(second, scale)
        return first, second

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        made, scale = ctx.saved_tensors
        return first * scale + second * made * 0.1, None


class Noisy(torch.autograd.Function):
    """Draws in its forward: to run again, it needs the numbers that it had."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        noise = torch.rand(x.shape)
        result = x * noise
        ctx.save_for_backward(result, noise)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        result, noise = ctx.saved_tensors
        return gradient * noise + 0 * result


def _written_view(x: Any, y: Any) -> Any:
    base = x * 1
    base[1:].mul_(y[1:])
    return base


def _written_column(x: Any, y: Any) -> Any:
    base = x.exp().t().clone().t()
    base[:, 0] = y[:, 0]
    base.tanh_()
    return base


def _written_twice(x: Any, y: Any) -> Any:
    held = x.sin()
    held.mul_(y)
    held.add_(0.5)
    return held.sin()


def _paired(x: Any, y: Any) -> Any:
    first, second = Pair.apply(x, torch.full((3, 1), 0.3))
    return first.sin() * second + y


def _dropped_in_place(x: Any, y: Any) -> Any:
    held = x * 1
    F.dropout(held[:2], 0.3, inplace=True)
    return held.tanh() * y


def _views_of_views(x: Any, y: Any) -> Any:
    base = x.sin()
    base.t()[1:].view_as(base.t()[1:])[:, :2].mul_(y[:2, :2])
    return base.t().exp().sigmoid()


def _normalized(x: Any, y: Any) -> Any:
    return F.layer_norm(x, (3,)) * y


# every function takes two tensors of shape (3, 3) and gives one
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "add": lambda x, y: x + y,
    "matmul": lambda x, y: x @ y,
    "addmm": lambda x, y: torch.addmm(x, x, y.t()),
    "exp": lambda x, y: (x * 0.3).exp(),
    "tanh": lambda x, y: x.tanh(),
    "relu": lambda x, y: x.relu(),
    "number": lambda x, y: x + 1.5 - 0.25 * y,
    "softmax": lambda x, y: x.softmax(1) + y,
    "sum": lambda x, y: x.sum(0, keepdim=True).sin() + y,
    "mean": lambda x, y: (x * y).mean(1).unsqueeze(1).expand(3, 3).cos(),
    "cat": lambda x, y: torch.cat([x, y], 1)[:, 1:4].sin(),
    "constant": lambda x, y: torch.stack([x, torch.ones(3, 3)]).sum(0).sin(),
    "view": lambda x, y: x.reshape(9)[torch.arange(9)].view(3, 3) * y.transpose(0, 1),
    "chunk": lambda x, y: x.unbind(0)[1].tanh() * y,
    "where": lambda x, y: torch.where(x > 0, x.sin(), y.cos()),
    "sort": lambda x, y: x.sort(1).values.exp().sigmoid() * y,
    "norm": _normalized,
    "dropout": lambda x, y: F.dropout(x, 0.4) * y,
    "double": lambda x, y: (x.double() * y.double()).tanh().float(),
    "written": _written_view,
    "column": _written_column,
    "twice": _written_twice,
    "cube": lambda x, y: Cube.apply(x * 0.5, 0.25) + y,
    "squash": lambda x, y: Squash.apply(x * y),
    "noisy": lambda x, y: Noisy.apply(x + y),
    "pair": _paired,
    "dropped": _dropped_in_place,
    "views": _views_of_views,
    "drawn": lambda x, y: x * torch.rand(3, 3) + torch.bernoulli(torch.full((3, 3), 0.5)) * y,
    "alpha": lambda x, y: F.alpha_dropout(x, 0.3).sin() * y,
    "detached": lambda x, y: x.detach() * y.sin(),
}

Step = tuple[str, int, int]
programs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 99), st.integers(0, 99)),
    min_size=1,
    max_size=9,
)


def leaves() -> list[Any]:
    torch.manual_seed(3)
    return [torch.randn(3, 3, requires_grad=True) for _ in range(3)]


def run(program: list[Step], inputs: list[Any], *, keep: bool = False) -> list[Any]:
    """The scalars that a program ends in, and with `keep` all of its values after them."""
    values = [*inputs, torch.full((3, 3), 0.7)]
    torch.manual_seed(5)
    for name, first, second in program:
        values.append(STEPS[name](values[-1 - first % len(values)], values[second % len(values)]))
    made = values[len(inputs) + 1 :]
    roots = [made[-1].sum(), (made[len(made) // 2] * made[-1]).exp().mean(), made[0].pow(2).sum()]
    # a detached value makes no graph; a leaf is needed to start from
    roots = [root + inputs[0].sum() for root in roots]
    return [*roots, *made] if keep else roots


def collected(inputs: list[Any]) -> list[Any]:
    return [None if leaf.grad is None else leaf.grad.clone() for leaf in inputs]
