import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z=6, classes=4, d=10):
        super().__init__()
        self.embed = nn.Embedding(classes, 6)
        self.net = nn.Sequential(nn.Linear(z + 6, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, z, y):
        return self.net(torch.cat([z, self.embed(y)], 1))


class Discriminator(nn.Module):
    def __init__(self, classes=4, d=10):
        super().__init__()
        self.embed = nn.Embedding(classes, 6)
        self.net = nn.Sequential(nn.Linear(d + 6, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))

    def forward(self, x, y):
        return self.net(torch.cat([x, self.embed(y)], 1)).squeeze(1)


def real_batch(n, protos):
    y = torch.randint(0, len(protos), (n,))
    return protos[y] + 0.2 * torch.randn(n, protos.size(1)), y


def train(iters=150, n=48):
    torch.manual_seed(33)
    protos = torch.randn(4, 10)
    gen, disc = Generator(), Discriminator()
    g_opt = torch.optim.Adam(gen.parameters(), lr=3e-3, betas=(0.5, 0.99))
    d_opt = torch.optim.Adam(disc.parameters(), lr=3e-3, betas=(0.5, 0.99))
    for i in range(iters):
        x, y = real_batch(n, protos)
        z = torch.randn(n, 6)
        with torch.no_grad():
            fake = gen(z, y)
        g_opt.zero_grad()
        d_loss = F.softplus(-disc(x, y)).mean() + F.softplus(disc(fake, y)).mean()
        d_loss.backward()
        d_opt.step()

        g_opt.zero_grad()
        g_loss = F.softplus(-disc(gen(z, y), y)).mean()
        g_loss.backward()
        g_opt.step()
    with torch.no_grad():
        labels = torch.arange(4).repeat(50)
        err = (gen(torch.randn(200, 6), labels) - protos[labels]).pow(2).mean()
    print(f"d {d_loss.item():.3f} g {g_loss.item():.3f} distance to prototypes {err:.3f}")


if __name__ == "__main__":
    train()
