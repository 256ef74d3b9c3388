import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)

LATENT = 4


def sample_real(n):
    centre = torch.randint(0, 2, (n, 1)).float() * 4 - 2
    return centre + 0.2 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(LATENT, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
residue = []


def bce(logits, value):
    return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, value))


for it in range(150):
    real = sample_real(64)
    fake = G(torch.randn(64, LATENT))

    # discriminator
    residue.append(sum(p.grad.abs().sum().item() for p in D.parameters() if p.grad is not None))
    d_loss = bce(D(real), 1.0) + bce(D(fake.detach()), 0.0)
    d_loss.backward()
    opt_d.step()
    opt_d.zero_grad()

    # generator
    g_loss = bce(D(fake), 1.0)
    g_loss.backward()
    opt_g.step()
    opt_g.zero_grad()

    if it % 50 == 0:
        print(f"{it:4d} d {d_loss.item():.3f} g {g_loss.item():.3f}")

with torch.no_grad():
    print("fake spread", G(torch.randn(500, LATENT)).std(0).tolist())
