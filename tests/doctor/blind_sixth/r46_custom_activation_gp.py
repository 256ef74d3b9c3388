"""WGAN critic with a custom activation (explicit backward for less memory)."""
import torch
import torch.nn as nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

torch.manual_seed(0)


class SwishFn(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        x, = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad_output * (s + x * s * (1 - s))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFn.apply(x)


critic = nn.Sequential(nn.Linear(2, 32), Swish(), nn.Linear(32, 32), Swish(), nn.Linear(32, 1))
gen = nn.Sequential(nn.Linear(3, 32), Swish(), nn.Linear(32, 2))
opt_c = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))


def gradient_penalty(real, fake):
    t = torch.rand(len(real), 1)
    mix = (t * real + (1 - t) * fake).requires_grad_(True)
    out = critic(mix)
    g, = torch.autograd.grad(out.sum(), mix, create_graph=True)
    return (g.norm(dim=1) - 1).square().mean()


def real_samples(n):
    return torch.randn(n, 2) @ torch.tensor([[1.0, 0.8], [0.0, 0.3]])


for it in range(25):
    real = real_samples(64)
    fake = gen(torch.randn(64, 3)).detach()
    c_loss = critic(fake).mean() - critic(real).mean() + 10 * gradient_penalty(real, fake)
    opt_c.zero_grad()
    c_loss.backward()
    opt_c.step()
    if it % 3 == 0:
        g_loss = -critic(gen(torch.randn(64, 3))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
    if it % 8 == 0:
        print(it, f"{c_loss.item():.3f}")
