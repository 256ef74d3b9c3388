import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_num_threads(1)


class Decoder(nn.Module):
    def __init__(self, z=6, out=40):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(z, 64), nn.Tanh(), nn.Linear(64, out))

    def forward(self, z):
        return self.net(z)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 6))
        self.dec = Decoder()

    def forward(self, x):
        return self.dec(self.enc(x))


def curves(n):
    t = torch.linspace(0, 1, 40)
    a, f, p = torch.rand(n, 1) + 0.5, 1 + 2 * torch.rand(n, 1), 6.28 * torch.rand(n, 1)
    return a * torch.sin(6.28 * f * t + p)


def pretrain(model, steps=200):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for s in range(steps):
        x = curves(64)
        loss = F.mse_loss(model(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(f"pretrain loss {loss.item():.4f}")


def invert(decoder, target, restarts=4, steps=150):
    for p in decoder.parameters():
        p.requires_grad_(False)
    z = torch.randn(restarts, 6, requires_grad=True) * 0.1
    optimizer = torch.optim.Adam([z], lr=0.05)
    for s in range(steps):
        optimizer.zero_grad()
        rec = (decoder(z) - target).pow(2).mean(1)
        loss = rec.sum() + 1e-4 * z.pow(2).sum()
        loss.backward()
        optimizer.step()
        if s % 50 == 0 or s == steps - 1:
            print(f"search {s} loss {rec.min().item():.5f}")
    return z[rec.argmin()].detach()


model = AutoEncoder()
pretrain(model)
best = invert(model.dec, curves(1))
print("latent", [round(v, 3) for v in best.tolist()])
