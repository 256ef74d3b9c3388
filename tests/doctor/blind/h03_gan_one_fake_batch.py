import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(103)
G = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.1), nn.Linear(32, 1))
og = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.99))
od = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.99))


def requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def real_batch(n):
    return torch.randn(n, 2) * torch.tensor([0.3, 1.0]) + torch.tensor([1.0, 0.0])


for step in range(200):
    real = real_batch(64)
    fake = G(torch.randn(64, 3))

    # discriminator sees the same fakes, without their history
    requires_grad(D, True)
    od.zero_grad()
    d_loss = F.softplus(-D(real)).mean() + F.softplus(D(fake.detach())).mean()
    d_loss.backward()
    od.step()

    # generator: D is only a fixed function here
    requires_grad(D, False)
    og.zero_grad()
    g_loss = F.softplus(-D(fake)).mean()
    g_loss.backward()
    og.step()

    if step % 50 == 0:
        with torch.no_grad():
            m = G(torch.randn(500, 3)).mean(0).tolist()
        print(f"{step} d {d_loss.item():.3f} g {g_loss.item():.3f} mean {m[0]:.2f} {m[1]:.2f}")
