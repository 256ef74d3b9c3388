import math

import torch
from torch import nn


class Solution(nn.Module):
    """u(t) of the decay equation u' = -k u with u(0) = 1; the rate is learned too."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
        self.log_rate = nn.Parameter(torch.zeros(()))

    def forward(self, t):
        return 1 + t * self.net(t)


def derivative(u, t):
    return torch.autograd.grad(u, t, torch.ones_like(u), create_graph=True)[0]


def residual(model, t):
    u = model(t)
    return derivative(u, t) + model.log_rate.exp() * u


def main():
    torch.manual_seed(0)
    model = Solution()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=60, gamma=0.5)
    observed_t = torch.linspace(0, 2, 9).unsqueeze(1)
    observed_u = torch.exp(-1.5 * observed_t)
    for it in range(120):
        t = torch.rand(32, 1).mul(2).requires_grad_()
        physics = residual(model, t).square().mean()
        data = (model(observed_t) - observed_u).square().mean()
        loss = data + 0.1 * physics
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if it % 30 == 29:
            rate = math.exp(model.log_rate.item())
            print(f"{it} loss {loss.item():.5f} rate {rate:.3f}")


main()
