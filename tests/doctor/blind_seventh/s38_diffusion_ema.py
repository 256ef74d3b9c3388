"""DDPM on a 2-d mixture; sampling uses the averaged weights."""
import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    timesteps: int = 30
    steps: int = 150
    batch: int = 128
    lr: float = 2e-3
    ema_decay: float = 0.99
    seed: int = 0


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 + 4, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, 2))

    def forward(self, x, t):
        ang = t[:, None].float() * torch.tensor([0.1, 1.0])
        return self.net(torch.cat([x, ang.sin(), ang.cos()], 1))


@torch.no_grad()
def update_ema(ema_model, model, decay):
    for pe, p in zip(ema_model.parameters(), model.parameters()):
        pe.mul_(decay).add_(p, alpha=1 - decay)


def sample_data(n):
    angle = torch.randint(0, 5, (n,)) * (2 * math.pi / 5)
    return torch.stack([angle.cos(), angle.sin()], 1) * 2 + 0.1 * torch.randn(n, 2)


@torch.no_grad()
def sample(model, betas, n=64):
    x = torch.randn(n, 2)
    alpha_bar = torch.cumprod(1 - betas, 0)
    for t in reversed(range(len(betas))):
        eps = model(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t > 0:
            x = x + betas[t].sqrt() * torch.randn_like(x)
    return x


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    betas = torch.linspace(1e-3, 0.2, cfg.timesteps)
    alpha_bar = torch.cumprod(1 - betas, 0)
    model = Denoiser()
    ema_model = model
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for step in range(cfg.steps):
        x0 = sample_data(cfg.batch)
        t = torch.randint(0, cfg.timesteps, (cfg.batch,))
        noise = torch.randn_like(x0)
        ab = alpha_bar[t][:, None]
        loss = F.mse_loss(model(ab.sqrt() * x0 + (1 - ab).sqrt() * noise, t), noise)
        opt.zero_grad()
        loss.backward()
        opt.step()
        update_ema(ema_model, model, cfg.ema_decay)
        if step % 50 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print("sample radius", sample(ema_model, betas).norm(dim=1).mean().item())
    return model, ema_model


if __name__ == "__main__":
    model, ema_model = main()
