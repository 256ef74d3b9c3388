"""Programs for the doctor: custom Functions, checkpoints, hooks, and codes without a cause."""

from __future__ import annotations

from tests.doctor.error_scenarios import HEAD, Scenario

FUNCTIONS: list[Scenario] = []


def scenario(
    name: str, cause: str, fix: str, program: str, repair: list[tuple[str, str]] | None = None
) -> None:
    FUNCTIONS.append(Scenario(name, cause, fix, HEAD + program, repair or []))


SCALED = """
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor, bias):
        ctx.factor = factor
        return x * factor + bias

    @staticmethod
    def backward(ctx, gradient):
        return {returned}  # fix made


net = nn.Linear(3, 4)
bias = torch.zeros(4, requires_grad=True)


def loss_of(x):
    return Scaled.apply(net(x), 2.0, bias).sum()


loss_of(torch.randn(2, 3)).backward()  # error
"""

scenario(
    "backward_returns_too_few",
    "custom-function",
    "return-gradients",
    SCALED.format(returned="gradient * ctx.factor, gradient.sum(0)"),
    [("ctx.factor, gradient", "ctx.factor, None, gradient")],
)

scenario(
    "backward_returns_another_shape",
    "custom-function",
    "return-gradients",
    SCALED.format(returned="gradient * ctx.factor, None, gradient[:, :3]"),
    [("gradient[:, :3]", "gradient.sum(0)")],
)

scenario(
    "penalty_through_once_differentiable",
    "custom-function",
    "drop-once-differentiable",
    """
from torch.autograd.function import once_differentiable


class Bent(torch.autograd.Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return nn.functional.softplus(z)

    @staticmethod
    @once_differentiable  # fix made
    def backward(ctx, gradient):
        (z,) = ctx.saved_tensors
        return gradient * torch.sigmoid(z)


net, head = nn.Linear(3, 8), nn.Linear(8, 1)
x = torch.randn(4, 3, requires_grad=True)
(slope,) = torch.autograd.grad(head(Bent.apply(net(x))).sum(), x, create_graph=True)
penalty = (slope.norm(dim=1) - 1).square().mean()
penalty.backward()  # error
""",
    [("    @once_differentiable  # fix made\n", "")],
)

scenario(
    "checkpoint_takes_another_branch",
    "recomputed-differently",
    "",
    """
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(3, 3), nn.Linear(3, 3)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if self.calls % 2 == 1:
            return self.two(torch.tanh(self.one(x)))  # fix made
        return self.one(x)  # made


block = Block()
loss = checkpoint(block, torch.randn(2, 3), use_reentrant=False).sum()
loss.backward()  # error
""",
    [("self.calls % 2 == 1", "self.calls % 2 == 3")],
)

scenario(
    "func_grad_of_a_vector",
    "non-scalar",
    "reduce-loss",
    """
from torch.func import grad, vmap

targets = torch.randn(5, 3)


def loss_of(weight, row, target):
    return (row @ weight - target).square()  # fix made


print(vmap(grad(loss_of), (None, 0, 0))(torch.randn(4, 3), torch.randn(5, 4), targets))  # error
""",
    [(".square()", ".square().mean()")],
)

scenario(
    "hook_on_frozen_features",
    "broken-graph",
    "make-leaf",
    """
body, head = nn.Linear(3, 4).requires_grad_(False), nn.Linear(4, 1)
kept = []
features = torch.relu(body(torch.randn(2, 3)))
features.register_hook(kept.append)  # error fix made
head(features).sum().backward()
""",
    [("features.register_hook", "features.requires_grad_().register_hook")],
)

scenario(
    "a_code_without_a_cause",
    "RG403",
    "",
    """
weight = torch.randn(3, requires_grad=True)
loss = (weight * weight).sum()
loss.register_hook(lambda gradient: gradient.reshape(1, 1, 1))
loss.backward()  # error fix made
""",
    [("gradient.reshape(1, 1, 1)", "gradient * 2")],
)
