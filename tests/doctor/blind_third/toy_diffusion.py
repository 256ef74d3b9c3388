import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(81)

STEPS = 20
betas = torch.linspace(1e-3, 0.3, STEPS)
alpha_bar = torch.cumprod(1 - betas, dim=0)


class NoisePredictor(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Embedding(STEPS, 16)
        self.net = nn.Sequential(nn.Linear(18, 48), nn.SiLU(), nn.Linear(48, 2))

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], dim=1))


class Ema:
    def __init__(self, model, decay=0.995):
        self.decay = decay
        self.weights = [p.detach().clone() for p in model.parameters()]

    @torch.no_grad()
    def update(self, model):
        for w, p in zip(self.weights, model.parameters()):
            w.lerp_(p, 1 - self.decay)

    @torch.no_grad()
    def copy_to(self, model):
        for w, p in zip(self.weights, model.parameters()):
            p.copy_(w)


@torch.no_grad()
def preview(model, ema, n=200):
    ema.copy_to(model)
    x = torch.randn(n, 2)
    for t in reversed(range(STEPS)):
        eps = model(x, torch.full((n,), t))
        x = (x - betas[t] / (1 - alpha_bar[t]).sqrt() * eps) / (1 - betas[t]).sqrt()
        if t:
            x = x + betas[t].sqrt() * torch.randn_like(x)
    return x


model = NoisePredictor()
ema = Ema(model)
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for it in range(400):
    angle = 2 * torch.pi * torch.rand(128)
    x0 = torch.stack([angle.cos(), angle.sin()], dim=1)
    t = torch.randint(0, STEPS, (128,))
    noise = torch.randn_like(x0)
    a = alpha_bar[t].unsqueeze(1)
    loss = F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * noise, t), noise)
    opt.zero_grad()
    loss.backward()
    opt.step()
    ema.update(model)
    if it % 50 == 49:
        radius = preview(model, ema).norm(dim=1)
        print(f"it {it + 1} loss {loss.item():.4f} radius {radius.mean():.3f}")
