import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(5)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers[:-1])


class G(nn.Module):
    z_dim = 4

    def __init__(self):
        super().__init__()
        self.net = mlp(self.z_dim, 32, 32, 2)

    def forward(self, z):
        return self.net(z)


class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 32, 32, 1)

    def forward(self, x):
        return self.net(x).squeeze(1)


def sample_real(n):
    t = 2 * torch.pi * torch.rand(n)
    return torch.stack([t.cos(), t.sin()], 1) + 0.05 * torch.randn(n, 2)


def gan_losses(g, d, x_real):
    z = torch.randn(len(x_real), g.z_dim)
    x_fake = g(z)
    on_real, on_fake = d(x_real), d(x_fake)
    ones, zeros = torch.ones(len(x_real)), torch.zeros(len(x_real))
    bce = F.binary_cross_entropy_with_logits
    d_loss = bce(on_real, ones) + bce(on_fake, zeros)
    g_loss = bce(on_fake, ones)
    return d_loss, g_loss


g, d = G(), D()
opt_g = torch.optim.Adam(g.parameters(), lr=1e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(d.parameters(), lr=1e-3, betas=(0.5, 0.99))

for step in range(300):
    d_loss, g_loss = gan_losses(g, d, sample_real(64))

    opt_d.zero_grad()
    d_loss.backward(retain_graph=True)
    opt_d.step()

    opt_g.zero_grad()
    g_loss.backward()
    opt_g.step()

    if step % 100 == 0 or step == 299:
        print(f"step {step} d_loss {d_loss.item():.3f} g_loss {g_loss.item():.3f}")
