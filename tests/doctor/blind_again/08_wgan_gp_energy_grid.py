import torch
from torch import nn, autograd


def net(i, o, h=32):
    return nn.Sequential(nn.Linear(i, h), nn.LeakyReLU(0.2), nn.Linear(h, h), nn.LeakyReLU(0.2), nn.Linear(h, o))


class GradientPenalty:
    def __init__(self, weight=10.0):
        self.weight = weight

    def __call__(self, critic, real, fake):
        mix = torch.rand(real.size(0), 1)
        points = (mix * real + (1 - mix) * fake).requires_grad_(True)
        scores = critic(points)
        slope, = autograd.grad(scores.sum(), points)
        return self.weight * (slope.norm(2, dim=1) - 1).pow(2).mean()


class LoadProfileGAN:
    def __init__(self, hours=12, latent=4):
        self.latent = latent
        self.G, self.D = net(latent, hours), net(hours, 1)
        self.penalty = GradientPenalty()
        self.g_opt = torch.optim.Adam(self.G.parameters(), lr=1e-3, betas=(0.0, 0.9))
        self.d_opt = torch.optim.Adam(self.D.parameters(), lr=2e-3, betas=(0.0, 0.9))

    def critic_step(self, real):
        fake = self.G(torch.randn(len(real), self.latent)).detach()
        gp = self.penalty(self.D, real, fake)
        loss = self.D(fake).mean() - self.D(real).mean() + gp
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return gp.item()

    def generator_step(self, n):
        loss = -self.D(self.G(torch.randn(n, self.latent))).mean()
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()


def profiles(n, hours=12):
    t = torch.arange(hours) / hours * 6.28
    return (1 + 0.3 * torch.randn(n, 1)) * torch.sin(t + 0.5 * torch.randn(n, 1)) + 0.05 * torch.randn(n, hours)


if __name__ == "__main__":
    torch.manual_seed(82)
    gan = LoadProfileGAN()
    for it in range(60):
        for _ in range(3):
            gp = gan.critic_step(profiles(48))
        gan.generator_step(48)
    print(f"penalty term {gp:.3f}")
