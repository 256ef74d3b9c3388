"""A neural ODE whose gradient is computed by a second ODE, in a `torch.autograd.Function`.

The forward pass keeps no graph at all: the backward pass walks the trajectory in reverse and
recomputes what it needs, one step at a time.
"""

import torch
from torch import nn

STEPS, LENGTH = 20, 1.5


class Dynamics(nn.Module):
    """dz/dt of a point in the plane."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 2))

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return self.layers(z**3)


class Solve(torch.autograd.Function):
    """Euler steps forward; the adjoint backward."""

    @staticmethod
    def forward(ctx, z, dynamics, *parameters):
        states = [z]
        for _ in range(STEPS):
            states.append(states[-1] + LENGTH / STEPS * dynamics(states[-1]))
        ctx.dynamics = dynamics
        ctx.save_for_backward(*states)
        return states[-1]

    @staticmethod
    def backward(ctx, gradient):
        dynamics, states = ctx.dynamics, ctx.saved_tensors
        parameters = tuple(dynamics.parameters())
        collected = [torch.zeros_like(p) for p in parameters]
        for state in reversed(states[:-1]):
            with torch.enable_grad():
                z = state.detach().requires_grad_()
                moved = LENGTH / STEPS * dynamics(z)
            found = torch.autograd.grad(moved, (z, *parameters), gradient)
            gradient = gradient + found[0]
            collected = [total + part for total, part in zip(collected, found[1:])]
        return (gradient, None, *collected)


def main() -> None:
    torch.manual_seed(12)
    starts = torch.randn(64, 2)
    turn = torch.tensor([[0.0, -1.0], [1.0, 0.0]])
    goals = 0.6 * starts @ turn
    dynamics = Dynamics()
    optimizer = torch.optim.Adam(dynamics.parameters(), lr=0.01)
    for step in range(1, 61):
        ends = Solve.apply(starts, dynamics, *dynamics.parameters())
        loss = (ends - goals).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 12 == 0:
            print(f"step {step:2d}  loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
