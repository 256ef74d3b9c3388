import torch
import torch.nn as nn

torch.manual_seed(107)
G = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
C = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1, bias=False))
og = torch.optim.Adam(G.parameters(), lr=2e-3, betas=(0.0, 0.9))
oc = torch.optim.Adam(C.parameters(), lr=5e-3, betas=(0.0, 0.9))


def penalty(critic, real, fake):
    eps = torch.rand(len(real), 1)
    x = torch.lerp(real, fake, eps).requires_grad_()
    g, = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    return (g.norm(dim=1) - 1).pow(2).mean()


for it in range(81):
    for _ in range(3):
        real = 2.0 + 0.5 * torch.randn(64, 1)
        fake = G(torch.randn(64, 2)).detach()
        gp = penalty(C, real, fake)
        c_loss = C(fake).mean() - C(real).mean() + 1.0 * gp
        oc.zero_grad()
        c_loss.backward()
        oc.step()

    og.zero_grad()
    g_loss = -C(G(torch.randn(64, 2))).mean()
    g_loss.backward()
    og.step()
    if it % 20 == 0:
        with torch.no_grad():
            mean = G(torch.randn(500, 2)).mean().item()
        print(f"{it} critic {c_loss.item():+.3f} gp {gp.item():.3f} generated mean {mean:.2f}")
