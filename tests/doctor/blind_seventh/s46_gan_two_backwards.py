"""GAN with one shared forward pass and two restricted backward passes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_params, d_params = list(G.parameters()), list(D.parameters())
opt_g = torch.optim.Adam(g_params, lr=1e-3, betas=(0.5, 0.9))
opt_d = torch.optim.Adam(d_params, lr=1e-3, betas=(0.5, 0.9))


def real(n):
    return torch.randn(n, 2) * torch.tensor([0.3, 1.0]) + torch.tensor([2.0, 0.0])


def bce(logit, value):
    return F.binary_cross_entropy_with_logits(logit, torch.full_like(logit, value))


d_log, g_log = [], []
for step in range(120):
    fake = G(torch.randn(64, 4))
    logit_fake, logit_real = D(fake), D(real(64))
    d_loss = bce(logit_real, 0.9) + bce(logit_fake, 0.0)
    g_loss = bce(logit_fake, 1.0)

    opt_d.zero_grad()
    opt_g.zero_grad()
    d_loss.backward(retain_graph=True, inputs=d_params)
    g_loss.backward(inputs=g_params)
    opt_d.step()
    opt_g.step()

    d_log.append(d_loss.detach())
    g_log.append(g_loss.detach())
    if step % 30 == 0:
        print(f"{step} D {d_loss.item():.3f} G {g_loss.item():.3f}")

print("mean D", torch.stack(d_log).mean().item(), "mean G", torch.stack(g_log).mean().item())
