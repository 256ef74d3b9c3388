import torch
import torch.nn as nn

torch.manual_seed(3)
cfg = dict(z=4, hidden=32, n_critic=3, gp=10.0, steps=40, batch=64)

G = nn.Sequential(nn.Linear(cfg["z"], cfg["hidden"]), nn.ReLU(inplace=True), nn.Linear(cfg["hidden"], 2))
D = nn.Sequential(nn.Linear(2, cfg["hidden"]), nn.LeakyReLU(0.2, inplace=True), nn.Linear(cfg["hidden"], 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.9))


def real_batch(n):
    angle = torch.rand(n) * 6.2832
    return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)


def penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mixed = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = D(mixed)
    grad, = torch.autograd.grad(score, mixed, torch.ones_like(score),
                                create_graph=True, retain_graph=True)
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for step in range(cfg["steps"]):
    for _ in range(cfg["n_critic"]):
        real = real_batch(cfg["batch"])
        fake = G(torch.randn(cfg["batch"], cfg["z"])).detach()
        loss_d = D(fake).mean() - D(real).mean() + cfg["gp"] * penalty(real, fake)
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

    for p in D.parameters():
        p.requires_grad_(False)
    loss_g = -D(G(torch.randn(cfg["batch"], cfg["z"]))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    for p in D.parameters():
        p.requires_grad_(True)

    if step % 10 == 0:
        print(step, f"{loss_d.item():.3f} {loss_g.item():.3f}")
