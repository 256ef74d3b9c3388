"""beta-VAE on toy 2-d data; beta follows a slow average of the KL term."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    def __init__(self, d_in=8, d_hid=32, d_z=3):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, d_hid), nn.ReLU())
        self.mu = nn.Linear(d_hid, d_z)
        self.logvar = nn.Linear(d_hid, d_z)
        self.dec = nn.Sequential(nn.Linear(d_z, d_hid), nn.ReLU(), nn.Linear(d_hid, d_in))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar)
        return self.dec(z), mu, logvar


class BetaController:
    """Raises beta when the averaged KL is above the target capacity."""

    def __init__(self, target=1.5, momentum=0.95):
        self.target = target
        self.momentum = momentum
        self.avg_kl = None

    def __call__(self, kl):
        if self.avg_kl is None:
            self.avg_kl = kl
        else:
            self.avg_kl = self.momentum * self.avg_kl + (1 - self.momentum) * kl
        return 1.0 + 0.1 * (self.avg_kl - self.target)


def make_data(n=512, d=8):
    base = torch.randn(n, 2)
    mix = torch.randn(2, d)
    return base @ mix + 0.1 * torch.randn(n, d)


def main():
    torch.manual_seed(0)
    data = make_data()
    model = VAE()
    controller = BetaController()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)

    for step in range(60):
        x = data[torch.randint(0, len(data), (64,))]
        recon, mu, logvar = model(x)
        rec = F.mse_loss(recon, x, reduction="sum") / x.size(0)
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        beta = controller(kl)
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            print(f"{step:3d} rec {rec.item():.3f} kl {kl.item():.3f} beta {float(beta):.3f}")
    return model


if __name__ == "__main__":
    main()
