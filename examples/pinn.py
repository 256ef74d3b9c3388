"""A physics-informed network: it solves u'' = -u by the derivatives of the network itself."""

import torch
from torch import nn


def derivative(values: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    """du/dx at every point, itself differentiable."""
    (slope,) = torch.autograd.grad(values.sum(), points, create_graph=True)
    return slope


def main() -> None:
    torch.manual_seed(11)
    network = nn.Sequential(
        nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1)
    )
    optimizer = torch.optim.Adam(network.parameters(), lr=5e-3)
    inside = torch.linspace(0, 3, 30).unsqueeze(1).requires_grad_()
    start = torch.zeros(1, 1, requires_grad=True)

    for step in range(1, 101):
        u = network(inside)
        residual = derivative(derivative(u, inside), inside) + u
        at_start = network(start)
        # u(0) = 0 and u'(0) = 1: the solution is sin
        boundary = at_start.square().sum() + (derivative(at_start, start) - 1).square().sum()
        loss = residual.square().mean() + boundary
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d}  loss {loss.item():.4f}")

    with torch.no_grad():
        error = (network(inside) - torch.sin(inside)).abs().max()
    print(f"largest distance from sin(x) {error.item():.2f}")


if __name__ == "__main__":
    main()
