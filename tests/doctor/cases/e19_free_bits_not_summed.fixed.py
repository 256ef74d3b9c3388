import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence


class SeriesVAE(nn.Module):
    def __init__(self, length=16, latent=5):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(length, 24), nn.SiLU(), nn.Linear(24, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, 24), nn.SiLU(), nn.Linear(24, length))

    def forward(self, series):
        mean, log_std = self.enc(series).chunk(2, -1)
        posterior = Normal(mean, log_std.clamp(-4, 2).exp())
        return self.dec(posterior.rsample()), posterior


def regulariser(posterior, free_bits):
    prior = Normal(torch.zeros_like(posterior.loc), torch.ones_like(posterior.scale))
    per_dimension = kl_divergence(posterior, prior).mean(0)
    return per_dimension.clamp(min=free_bits).sum()


def elbo_loss(model, series, beta, free_bits=0.1):
    reconstruction, posterior = model(series)
    error = F.mse_loss(reconstruction, series, reduction="sum") / len(series)
    return error + beta * regulariser(posterior, free_bits)


def sines(n=12, length=16):
    phase = torch.rand(n, 1) * 6.28
    return torch.sin(torch.linspace(0, 6.28, length) + phase)


def fit(warmup=4, steps=8):
    model = SeriesVAE()
    optimizer = torch.optim.Adamax(model.parameters(), lr=4e-3)
    for step in range(steps):
        beta = min(1.0, step / warmup)
        loss = elbo_loss(model, sines(), beta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, beta, round(loss.item(), 3))


if __name__ == "__main__":
    torch.manual_seed(0)
    fit()
