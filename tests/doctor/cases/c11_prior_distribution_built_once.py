import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, kl_divergence


class LearnedPriorVAE(nn.Module):
    def __init__(self, data_dim=12, latent=3):
        super().__init__()
        self.enc = nn.Linear(data_dim, 2 * latent)
        self.dec = nn.Sequential(nn.Linear(latent, 16), nn.ELU(), nn.Linear(16, data_dim))
        self.prior_loc = nn.Parameter(torch.zeros(latent))
        self.prior_log_scale = nn.Parameter(torch.zeros(latent))
        self.prior = Independent(Normal(self.prior_loc, self.prior_log_scale.exp()), 1)

    def posterior(self, x):
        loc, log_scale = self.enc(x).chunk(2, dim=-1)
        return Independent(Normal(loc, log_scale.exp()), 1)

    def elbo(self, x):
        q = self.posterior(x)
        z = q.rsample()
        recon = Normal(self.dec(z), 1.0).log_prob(x).sum(-1)
        return recon - kl_divergence(q, self.prior)

    @torch.no_grad()
    def sample(self, n):
        return self.dec(self.prior.sample((n,)))


def make_data(n=96):
    g = torch.Generator().manual_seed(1)
    factors = torch.randn(n, 2, generator=g) + 1.0
    return factors @ torch.randn(2, 12, generator=g) + 0.1 * torch.randn(n, 12, generator=g)


if __name__ == "__main__":
    torch.manual_seed(0)
    data = make_data()
    vae = LearnedPriorVAE()
    optim = torch.optim.Adam(
        [{"params": [*vae.enc.parameters(), *vae.dec.parameters()]},
         {"params": [vae.prior_loc, vae.prior_log_scale], "lr": 1e-2}],
        lr=2e-3,
    )
    for epoch in range(2):
        order = torch.randperm(len(data))
        for idx in order.split(32):
            optim.zero_grad()
            loss = -vae.elbo(data[idx]).mean()
            loss.backward()
            optim.step()
        print(epoch, round(loss.item(), 3), vae.sample(2).shape)
