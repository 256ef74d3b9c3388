import torch
from torch import nn
from torch.nn import functional as F


class VAE(nn.Module):
    def __init__(self, data_dim=16, hidden=32, latent=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(data_dim, hidden), nn.ReLU())
        self.mu, self.logvar = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(), nn.Linear(hidden, data_dim))

    def encode(self, x):
        h = self.enc(x)
        return self.mu(h), self.logvar(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.dec(z), mu, logvar


class BetaSchedule:
    def __init__(self, warmup):
        self.warmup, self.step_count = warmup, 0

    def __call__(self):
        self.step_count += 1
        return min(1.0, self.step_count / self.warmup)


class ElboTrainer:
    def __init__(self, model, lr=2e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.beta = BetaSchedule(warmup=20)
        self.metrics = {"recon": 0.0, "kl": 0.0}

    def reconstruction_step(self, x, recon):
        loss = F.mse_loss(recon, x, reduction="sum") / len(x)
        loss.backward()
        self.metrics["recon"] = loss.item()

    def kl_step(self, mu, logvar):
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        (self.beta() * kl).backward()
        self.metrics["kl"] = kl.item()

    def fit_batch(self, x):
        recon, mu, logvar = self.model(x)
        self.optimizer.zero_grad()
        self.reconstruction_step(x, recon)
        self.kl_step(mu, logvar)
        self.optimizer.step()
        return dict(self.metrics)


def mixture(n, gen, dim=16):
    which = torch.randint(0, 3, (n,), generator=gen)
    return torch.eye(dim)[which * 5] * 2 + 0.1 * torch.randn(n, dim, generator=gen)


if __name__ == "__main__":
    torch.manual_seed(11)
    gen = torch.Generator().manual_seed(0)
    trainer = ElboTrainer(VAE())
    for it in range(30):
        out = trainer.fit_batch(mixture(32, gen))
        if it % 10 == 9:
            print(it, {k: round(v, 3) for k, v in out.items()})
