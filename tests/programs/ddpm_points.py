"""Minimal DDPM on two moons (2-D points), with EMA weights."""

import copy
import math

import torch
from torch import nn

T = 40


def two_moons(n):
    t = math.pi * torch.rand(n)
    upper = torch.rand(n) < 0.5
    x = torch.where(upper, t.cos(), 1 - t.cos()) - 0.5
    y = torch.where(upper, t.sin(), 0.5 - t.sin()) - 0.25
    return torch.stack([x, y], -1) + 0.05 * torch.randn(n, 2)


def cosine_beta_schedule(timesteps, s=0.008):
    steps = torch.linspace(0, timesteps, timesteps + 1, dtype=torch.float64)
    alphas_cumprod = torch.cos(((steps / timesteps) + s) / (1 + s) * math.pi * 0.5) ** 2
    alphas_cumprod = alphas_cumprod / alphas_cumprod[0]
    betas = 1 - (alphas_cumprod[1:] / alphas_cumprod[:-1])
    return torch.clip(betas, 0, 0.999).float()


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(torch.arange(half, device=t.device) * -(math.log(10000) / (half - 1)))
        args = t[:, None] * freqs[None, :]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class ResBlock(nn.Module):
    def __init__(self, dim, time_dim):
        super().__init__()
        self.norm = nn.RMSNorm(dim)
        self.lin1 = nn.Linear(dim, dim)
        self.time = nn.Linear(time_dim, 2 * dim)
        self.lin2 = nn.Linear(dim, dim)
        self.act = nn.SiLU()

    def forward(self, x, temb):
        scale, shift = self.time(temb).chunk(2, dim=-1)
        h = self.lin1(self.norm(x)) * (1 + scale) + shift
        return x + self.lin2(self.act(h))


class Denoiser(nn.Module):
    def __init__(self, dim=32, blocks=2):
        super().__init__()
        self.time_mlp = nn.Sequential(SinusoidalPosEmb(16), nn.Linear(16, dim), nn.GELU())
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([ResBlock(dim, dim) for _ in range(blocks)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        temb = self.time_mlp(t)
        x = self.inp(x)
        for block in self.blocks:
            x = block(x, temb)
        return self.out(x)


class GaussianDiffusion(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
        betas = cosine_beta_schedule(T)
        alphas = 1.0 - betas
        cumprod = torch.cumprod(alphas, dim=0)
        prev = nn.functional.pad(cumprod[:-1], (1, 0), value=1.0)
        self.register_buffer("betas", betas)
        self.register_buffer("sqrt_ac", torch.sqrt(cumprod))
        self.register_buffer("sqrt_1mac", torch.sqrt(1.0 - cumprod))
        self.register_buffer("sqrt_recip", torch.rsqrt(alphas))
        self.register_buffer("variance", betas * (1.0 - prev) / (1.0 - cumprod))
        snr = cumprod / (1 - cumprod)
        self.register_buffer("weight", torch.minimum(snr, torch.full_like(snr, 5.0)) / snr)

    def q_sample(self, x0, t, noise):
        return (
            extract(self.sqrt_ac, t, x0.shape) * x0 + extract(self.sqrt_1mac, t, x0.shape) * noise
        )

    def forward(self, x0):
        t = torch.randint(0, T, (x0.shape[0],), device=x0.device).long()
        noise = torch.randn_like(x0)
        pred = self.model(self.q_sample(x0, t, noise), t)
        loss = nn.functional.mse_loss(pred, noise, reduction="none").mean(1)
        return (loss * extract(self.weight, t, loss.shape)).mean()

    @torch.inference_mode()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(T)):
            t = torch.full((n,), i, dtype=torch.long)
            eps = self.model(x, t)
            coef = extract(self.betas / self.sqrt_1mac, t, x.shape)
            x = extract(self.sqrt_recip, t, x.shape) * (x - coef * eps)
            if i > 0:
                x += extract(self.variance, t, x.shape).sqrt() * torch.randn_like(x)
        return x


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)
        for s, b in zip(self.shadow.buffers(), model.buffers()):
            s.copy_(b)


if __name__ == "__main__":
    torch.manual_seed(10)
    diffusion = GaussianDiffusion(Denoiser())
    ema = EMA(diffusion, decay=0.98)
    averaged = torch.optim.swa_utils.AveragedModel(
        diffusion, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.98)
    )
    opt = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
    running = None
    for step in range(1, 201):
        loss = diffusion(two_moons(128))
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(diffusion)
        averaged.update_parameters(diffusion)
        running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
        if step % 40 == 0:
            print(f"step {step:4d} | loss {loss.item():.4f} | running {running:.4f}")
    samples = ema.shadow.sample(256)
    print("samples: mean", samples.mean(0), "std", samples.std(0))
    nearest = torch.cdist(samples, two_moons(512)).min(dim=1).values
    print(f"median distance to the data {nearest.median():.3f}")
    gap = max(
        (a - b).abs().max().item() for a, b in zip(ema.shadow.parameters(), averaged.parameters())
    )
    print("own average and swa_utils' differ early only:", gap < 0.1)
