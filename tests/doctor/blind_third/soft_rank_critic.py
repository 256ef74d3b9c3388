import torch
import torch.nn as nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

torch.manual_seed(2)


class SmoothHinge(Function):
    @staticmethod
    def forward(ctx, z):
        ctx.save_for_backward(z)
        return torch.nn.functional.softplus(z)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (z,) = ctx.saved_tensors
        return grad * torch.sigmoid(z)


class Critic(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.inp = nn.Linear(dim, 48)
        self.mid = nn.Linear(48, 48)
        self.out = nn.Linear(48, 1)

    def forward(self, x):
        x = SmoothHinge.apply(self.inp(x))
        x = SmoothHinge.apply(self.mid(x))
        return self.out(x)


def lipschitz_term(critic, real, fake):
    mix = torch.rand(real.size(0), 1)
    points = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(points).sum(), points, create_graph=True)
    return (slope.norm(dim=1) - 1).pow(2).mean()


critic = Critic(3)
opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
for it in range(50):
    real = torch.randn(64, 3) + 1.5
    fake = torch.randn(64, 3)
    gp = lipschitz_term(critic, real, fake)
    loss = critic(fake).mean() - critic(real).mean() + 10.0 * gp
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 10 == 0:
        print(it, "wasserstein", round(-(loss - 10 * gp).item(), 4), "gp", round(gp.item(), 4))
