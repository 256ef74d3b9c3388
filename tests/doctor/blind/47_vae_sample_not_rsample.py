import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Independent, Normal, kl_divergence

torch.manual_seed(79)


class VAE(nn.Module):
    def __init__(self, d_x=10, d_z=3, hid=48):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_x, hid), nn.Tanh())
        self.mu, self.log_sd = nn.Linear(hid, d_z), nn.Linear(hid, d_z)
        self.dec = nn.Sequential(nn.Linear(d_z, hid), nn.Tanh(), nn.Linear(hid, d_x))
        self.register_buffer("p_mu", torch.zeros(d_z))
        self.register_buffer("p_sd", torch.ones(d_z))

    def posterior(self, x):
        h = self.enc(x)
        return Independent(Normal(self.mu(h), self.log_sd(h).clamp(-5, 2).exp()), 1)

    def prior(self):
        return Independent(Normal(self.p_mu, self.p_sd), 1)

    def elbo(self, x, beta):
        q = self.posterior(x)
        z = q.sample()
        rec = F.mse_loss(self.dec(z), x, reduction="none").sum(1)
        kl = kl_divergence(q, self.prior().expand(q.batch_shape))
        return (rec + beta * kl).mean(), rec.mean().item(), kl.mean().item()

    @torch.no_grad()
    def generate(self, n):
        return self.dec(self.prior().sample((n,)))


mixing = torch.randn(3, 10)


def observations(n=128):
    return torch.tanh(torch.randn(n, 3) @ mixing) + 0.05 * torch.randn(n, 10)


model = VAE()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(200):
    beta = min(1.0, step / 100) * 0.1
    loss, rec, kl = model.elbo(observations(), beta)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    if step % 50 == 0:
        print(f"step {step} loss {loss.item():.3f} rec {rec:.3f} kl {kl:.3f}")
print("generated std", model.generate(200).std(0).mean().item(), "data std", observations(200).std(0).mean().item())
