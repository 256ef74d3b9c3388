import math

import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(65)
torch.set_num_threads(1)
T = 20
betas = torch.linspace(1e-3, 0.3, T)
alpha_bar = torch.cumprod(1 - betas, dim=0)


class Denoiser(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, x, t):
        angle = t.float()[:, None] / T * math.pi
        return self.net(torch.cat([x, angle.sin(), angle.cos()], dim=1))


def swirl(n):
    r = torch.rand(n) * 1.5 + 0.3
    return torch.stack([r * torch.cos(4 * r), r * torch.sin(4 * r)], dim=1)


@torch.no_grad()
def sample(net, n):
    net.eval()
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        eps = net(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t > 0:
            x += betas[t].sqrt() * torch.randn_like(x)
    net.train()
    return x


model = Denoiser()
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.98))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
running = 0.0
for step in range(1, 301):
    x0, noise = swirl(128), torch.randn(128, 2)
    t = torch.randint(0, T, (128,))
    scale = alpha_bar[t].unsqueeze(1)
    noisy = scale.sqrt() * x0 + (1 - scale).sqrt() * noise
    with torch.autocast("cpu", dtype=torch.bfloat16):
        guess = model(noisy, t)
    loss = (guess.float() - noise).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update_parameters(model)
    running = 0.95 * running + 0.05 * loss.item()
    if step % 100 == 0:
        print(step, f"loss {running:.3f} radius of samples {sample(ema, 200).norm(dim=1).mean().item():.3f}")
