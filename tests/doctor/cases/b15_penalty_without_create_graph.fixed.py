import torch
import torch.nn as nn


class Experiment:
    def __init__(self, noise=3, features=2, weight=10.0):
        self.noise, self.weight = noise, weight
        self.generator = nn.Sequential(nn.Linear(noise, 24), nn.ReLU(), nn.Linear(24, features))
        self.critic = nn.Sequential(nn.Linear(features, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
        betas = (0.5, 0.9)
        self.opt_generator = torch.optim.Adam(self.generator.parameters(), lr=2e-3, betas=betas)
        self.opt_critic = torch.optim.Adam(self.critic.parameters(), lr=5e-3, betas=betas)

    def sample_real(self, n):
        angle = torch.rand(n) * 6.2832
        return torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(n, 2)

    def sample_fake(self, n):
        return self.generator(torch.randn(n, self.noise))

    def penalty(self, real, fake):
        mix = torch.rand(real.size(0), 1)
        between = (mix * real + (1 - mix) * fake).detach().requires_grad_(True)
        score = self.critic(between)
        (gradient,) = torch.autograd.grad(score.sum(), between, create_graph=True)
        return (gradient.norm(2, dim=1) - 1).square().mean()

    def critic_step(self, n):
        real, fake = self.sample_real(n), self.sample_fake(n).detach()
        penalty = self.penalty(real, fake)
        loss = self.critic(fake).mean() - self.critic(real).mean() + self.weight * penalty
        self.opt_critic.zero_grad()
        loss.backward()
        self.opt_critic.step()
        return loss.item(), penalty.item()

    def generator_step(self, n):
        loss = -self.critic(self.sample_fake(n)).mean()
        self.opt_generator.zero_grad()
        loss.backward()
        self.opt_generator.step()


torch.manual_seed(0)
experiment = Experiment()
for it in range(25):
    for _ in range(3):
        critic_loss, penalty = experiment.critic_step(64)
    experiment.generator_step(64)
    if it % 6 == 0:
        print(f"{it:2d} critic {critic_loss:.3f} penalty {penalty:.3f}")
