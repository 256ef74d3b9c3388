"""Toy diffusion on 2-D spirals with self-conditioning (the model sees an earlier estimate of x0)."""
import math
import torch
import torch.nn as nn

torch.manual_seed(0)
T = 50
betas = torch.linspace(1e-4, 0.05, T)
alpha_bar = torch.cumprod(1 - betas, 0)


class Denoiser(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.time = nn.Embedding(T, width)
        self.inp = nn.Linear(4, width)
        self.mid = nn.Linear(width, width)
        self.out = nn.Linear(width, 2)

    def forward(self, x_t, t, x0_hint):
        h = self.inp(torch.cat([x_t, x0_hint], dim=-1)) + self.time(t)
        h = nn.functional.silu(h)
        return self.out(nn.functional.silu(self.mid(h)))


class SelfConditionedDiffusion:
    def __init__(self, net, keep=0.5):
        self.net, self.keep = net, keep
        self.hint = None

    def sample_t(self, n):
        return torch.randint(0, T, (n,))

    def loss(self, x0):
        t = self.sample_t(len(x0))
        ab = alpha_bar[t, None]
        noise = torch.randn_like(x0)
        x_t = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
        hint = self.hint if self.hint is not None else torch.zeros_like(x0)
        eps = self.net(x_t, t, hint)
        self.hint = ((x_t - (1 - ab).sqrt() * eps) / ab.sqrt()).detach()
        return (eps - noise).pow(2).mean()


def spiral(n):
    r = torch.rand(n).sqrt()
    return torch.stack([r * torch.cos(3 * math.pi * r), r * torch.sin(3 * math.pi * r)], 1)


net = Denoiser()
diffusion = SelfConditionedDiffusion(net)
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
warmup = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1.0, (i + 1) / 4))
for i in range(6):
    loss = diffusion.loss(spiral(32))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    warmup.step()
    print(i, f"{loss.item():.4f}")
