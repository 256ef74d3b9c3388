"""WGAN-GP on a 2D ring of gaussians."""
import torch
import torch.nn as nn

torch.manual_seed(16)

Z, BATCH, LAMBDA, N_CRITIC = 4, 64, 10.0, 3

G = nn.Sequential(nn.Linear(Z, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))


def real_batch():
    k = torch.randint(0, 8, (BATCH,)).float() * (2 * torch.pi / 8)
    return torch.stack([k.cos(), k.sin()], 1) * 2 + 0.05 * torch.randn(BATCH, 2)


def gradient_penalty(critic, real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = eps * real + (1 - eps) * fake
    score = critic(mix)
    grads = torch.autograd.grad(
        outputs=score,
        inputs=mix,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
        retain_graph=True,
    )[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


for it in range(30):
    for _ in range(N_CRITIC):
        real = real_batch()
        fake = G(torch.randn(BATCH, Z)).detach()
        loss_d = D(fake).mean() - D(real).mean() + LAMBDA * gradient_penalty(D, real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

    loss_g = -D(G(torch.randn(BATCH, Z))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 10 == 0:
        print(f"{it} critic {loss_d.item():.3f} gen {loss_g.item():.3f}")
