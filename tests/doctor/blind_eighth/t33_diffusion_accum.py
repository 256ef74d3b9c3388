"""DDPM noise predictor on 2D points, with gradient accumulation for small memory."""
import torch
import torch.nn as nn

torch.manual_seed(32)

T = 50
betas = torch.linspace(1e-3, 0.15, T)
alpha_bar = torch.cumprod(1 - betas, dim=0)


class NoiseNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


def diffusion_loss(net, x0):
    t = torch.randint(0, T, (len(x0),))
    noise = torch.randn_like(x0)
    ab = alpha_bar[t].unsqueeze(1)
    xt = ab.sqrt() * x0 + (1 - ab).sqrt() * noise
    return ((net(xt, t) - noise) ** 2).mean()


def sample_points(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) * 2


ACCUM = 8
net = NoiseNet()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
updates, running = 0, 0.0

for micro in range(ACCUM * 60):
    opt.zero_grad()
    loss = diffusion_loss(net, sample_points(8)) / ACCUM
    loss.backward()
    running += loss.item()
    if (micro + 1) % ACCUM == 0:
        grad_norm = nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        updates += 1
        if updates % 20 == 0:
            print(f"update {updates} loss {running:.4f} grad norm {grad_norm.item():.4f}")
        running = 0.0
