"""Tiny DDPM in two dimensions with an exponential moving average of the weights."""
import copy
import torch
import torch.nn as nn

torch.manual_seed(0)
T = 50
beta = torch.linspace(1e-4, 0.05, T)
alpha_bar = torch.cumprod(1 - beta, 0)


class Denoiser(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.time = nn.Embedding(T, 16)
        self.net = nn.Sequential(nn.Linear(18, width), nn.SiLU(inplace=True), nn.Linear(width, width),
                                 nn.SiLU(inplace=True), nn.Linear(width, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


class EMA:
    def __init__(self, model, decay=0.98):
        self.shadow = copy.deepcopy(model).eval()
        self.shadow.requires_grad_(False)
        self.decay = decay

    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p.detach(), 1 - self.decay)


def sample_data(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) + 0.05 * torch.randn(n, 2)


@torch.no_grad()
def generate(model, n=64):
    x = torch.randn(n, 2)
    for t in reversed(range(T)):
        tt = torch.full((n,), t)
        eps = model(x, tt)
        x -= beta[t] / (1 - alpha_bar[t]).sqrt() * eps
        x /= (1 - beta[t]).sqrt()
        if t:
            x += beta[t].sqrt() * torch.randn_like(x)
    return x


model = Denoiser()
ema = EMA(model)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    x0 = sample_data(128)
    t = torch.randint(0, T, (128,))
    noise = torch.randn_like(x0)
    ab = alpha_bar[t].unsqueeze(1)
    loss = (model(ab.sqrt() * x0 + (1 - ab).sqrt() * noise, t) - noise).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if step % 50 == 0:
        print(f"{step} {loss.item():.4f}")
print("mean radius of the samples", generate(ema.shadow).norm(dim=1).mean().item())
