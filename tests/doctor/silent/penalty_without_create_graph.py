import torch
import torch.nn as nn
D = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
opt = torch.optim.Adam(D.parameters())
def gradient_penalty(real, fake):
    mix = (0.5 * real + 0.5 * fake).requires_grad_()
    grad = torch.autograd.grad(D(mix).sum(), mix)[0]  # missing-create-graph: create-graph
    return (grad.norm(dim=1) - 1).pow(2).mean()
for _ in range(4):
    real, fake = torch.randn(5, 3), torch.randn(5, 3)
    gp = gradient_penalty(real, fake)
    loss = D(fake).mean() - D(real).mean() + 10 * gp
    opt.zero_grad()
    loss.backward()
    opt.step()
