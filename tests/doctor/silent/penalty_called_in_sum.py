import torch
import torch.nn as nn
critic = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters())


def penalty(critic, x):
    x = x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(critic(x).sum(), x, retain_graph=True)  # missing-create-graph: create-graph
    return (slope.norm(dim=1) - 1).pow(2).mean()


for _ in range(5):
    x = torch.randn(6, 3)
    loss = critic(x).mean()
    loss = loss + 10.0 * penalty(critic, x)
    opt.zero_grad()
    loss.backward()
    opt.step()
