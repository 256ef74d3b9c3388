"""Wasserstein GAN with gradient penalty on a two-mode mixture."""
import torch
import torch.nn as nn
from torch import autograd, optim

torch.manual_seed(25)
torch.set_num_threads(1)
LAMBDA, BATCH, NOISE = 10.0, 64, 3


def real_data(n):
    side = torch.randint(0, 2, (n, 1)).float() * 4 - 2
    return torch.cat([side, -side], dim=1) + 0.2 * torch.randn(n, 2)


G = nn.Sequential(nn.Linear(NOISE, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))


def gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = netD(mixed)
    gradients = autograd.grad(
        outputs=score, inputs=mixed,
        grad_outputs=torch.ones_like(score), retain_graph=True,
    )[0]
    norms = gradients.norm(2, dim=1)
    return LAMBDA * ((norms - 1) ** 2).mean(), norms.mean().item()


opt_d = optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_g = optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))

for it in range(80):
    for _ in range(3):
        real = real_data(BATCH)
        with torch.no_grad():
            fake = G(torch.randn(BATCH, NOISE))
        penalty, norm = gradient_penalty(D, real, fake)
        d_loss = D(fake).mean() - D(real).mean() + penalty
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

    g_loss = -D(G(torch.randn(BATCH, NOISE))).mean()
    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()
    if it % 20 == 19:
        print(it + 1, f"d {d_loss.item():.3f} g {g_loss.item():.3f} gradient norm {norm:.2f}")
