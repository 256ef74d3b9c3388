import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class BayesLinear(nn.Module):
    def __init__(self, n_in, n_out, prior_sigma=0.5):
        super().__init__()
        self.mu = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.rho = nn.Parameter(torch.full((n_out, n_in), -4.0))
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.prior_sigma = prior_sigma
        self.kl = 0.0

    def forward(self, x):
        sigma = F.softplus(self.rho)
        weight = self.mu + sigma * torch.randn_like(sigma)
        ratio = (sigma / self.prior_sigma).pow(2)
        kl = 0.5 * (ratio + (self.mu / self.prior_sigma).pow(2) - 1 - ratio.log()).sum()
        self.kl = self.kl + kl
        return F.linear(x, weight, self.bias)


class BayesNet(nn.Sequential):
    def __init__(self):
        super().__init__(BayesLinear(4, 16), nn.Tanh(), BayesLinear(16, 1))

    @property
    def kl(self):
        return sum(m.kl for m in self if isinstance(m, BayesLinear))


def wave(n, gen):
    x = torch.rand(n, 1, generator=gen) * 4 - 2
    features = torch.cat([x, x ** 2, x ** 3, torch.ones_like(x)], 1)
    return features, torch.sin(2 * x) + 0.1 * torch.randn(n, 1, generator=gen)


def train(n_batches=5, samples=2):
    gen = torch.Generator().manual_seed(6)
    net = BayesNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    for i in range(n_batches):
        x, y = wave(40, gen)
        opt.zero_grad()
        nll = sum(F.mse_loss(net(x), y) for _ in range(samples)) / (2 * 0.01 * samples)
        loss = nll + net.kl / (samples * n_batches)
        loss.backward()
        opt.step()
        print(f"{i} nll={nll.item():.3f} kl={net.kl.item():.3f}")


torch.manual_seed(0)
train()
