import torch
import torch.nn as nn

torch.manual_seed(7)
SIGMAS = torch.tensor([0.8, 0.4, 0.2])


class EnergyNet(nn.Module):
    def __init__(self, dim=2, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim + 1, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1))

    def energy(self, x, sigma):
        return self.net(torch.cat([x, sigma], dim=1)).squeeze(-1)

    def score(self, x, sigma):
        x = x.detach().requires_grad_()
        e = self.energy(x, sigma)
        (dx,) = torch.autograd.grad(e.sum(), x)
        return -dx / sigma


def denoising_score_loss(model, x):
    sigma = SIGMAS[torch.randint(0, 3, (len(x),))][:, None]
    noise = torch.randn_like(x)
    estimate = model.score(x + sigma * noise, sigma)
    return 0.5 * (sigma * estimate + noise).pow(2).sum(1).mean()


@torch.enable_grad()
def langevin(model, n=8, steps=3, eps=0.02):
    x = torch.randn(n, 2)
    for sigma in SIGMAS:
        level = sigma.expand(n, 1)
        for _ in range(steps):
            x = x + eps * model.score(x, level).detach() + (2 * eps) ** 0.5 * torch.randn(n, 2)
    return x


def two_moons(n):
    t = torch.rand(n) * torch.pi
    side = torch.randint(0, 2, (n,)).float() * 2 - 1
    return torch.stack([t.cos() + 0.5 * side, side * t.sin()], 1)


model = EnergyNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(5):
    loss = denoising_score_loss(model, two_moons(64))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(it, round(loss.item(), 4))
print(langevin(model).shape)
