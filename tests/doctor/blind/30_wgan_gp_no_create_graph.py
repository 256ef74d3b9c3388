import torch
import torch.nn as nn

torch.manual_seed(62)
Z = 4


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2),
                                 nn.Linear(64, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(1)


G = nn.Sequential(nn.Linear(Z, 64), nn.ReLU(), nn.Linear(64, 2))
C = Critic()
opt_g = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.9))
opt_c = torch.optim.Adam(C.parameters(), lr=1e-3, betas=(0.5, 0.9))


def real_batch(n):
    a = torch.rand(n) * 6.2832
    return torch.stack([a.cos(), a.sin()], 1) * 2 + 0.05 * torch.randn(n, 2)


def gradient_penalty(real, fake):
    eps = torch.rand(real.size(0), 1)
    mix = (eps * real + (1 - eps) * fake).requires_grad_(True)
    score = C(mix)
    grads = torch.autograd.grad(score, mix, grad_outputs=torch.ones_like(score), retain_graph=True)[0]
    norm = grads.norm(2, dim=1)
    return ((norm - 1) ** 2).mean(), norm.mean().item()


for it in range(80):
    for _ in range(3):
        real = real_batch(64)
        with torch.no_grad():
            fake = G(torch.randn(64, Z))
        gp, slope = gradient_penalty(real, fake)
        loss_c = C(fake).mean() - C(real).mean() + 10.0 * gp
        opt_c.zero_grad()
        loss_c.backward()
        opt_c.step()
    loss_g = -C(G(torch.randn(64, Z))).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()
    if it % 20 == 0:
        print(f"{it:3d} critic {loss_c.item():+.3f} gen {loss_g.item():+.3f} gp {gp.item():.3f} slope {slope:.2f}")
