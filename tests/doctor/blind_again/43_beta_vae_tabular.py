import torch
from torch import nn
from torch.nn import functional as F


class TabularVAE(nn.Module):
    def __init__(self, d=12, z=3, width=32):
        super().__init__()
        self.enc = nn.Linear(d, width)
        self.mu = nn.Linear(width, z)
        self.logvar = nn.Linear(width, z)
        self.dec = nn.Sequential(nn.Linear(z, width), nn.ReLU(), nn.Linear(width, d))

    def encode(self, x):
        h = F.relu(self.enc(x))
        return self.mu(h), self.logvar(h)

    def forward(self, x):
        mu, logvar = self.encode(x)
        z = mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)
        return self.dec(z), mu, logvar


def elbo_terms(x, recon, mu, logvar):
    rec = F.mse_loss(recon, x, reduction="none").sum(dim=1)
    kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(dim=1)
    return rec, kl


def train_one_epoch(model, loader, opt, beta):
    running = 0.0
    for x in loader:
        recon, mu, logvar = model(x)
        rec, kl = elbo_terms(x, recon, mu, logvar)
        loss = rec + beta * kl
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.detach().mean().item()
    return running / len(loader)


def main():
    torch.manual_seed(5)
    latent = torch.randn(320, 3)
    mixing = torch.randn(3, 12)
    data = latent @ mixing + 0.1 * torch.randn(320, 12)
    data = (data - data.mean(0)) / data.std(0)
    loader = torch.utils.data.DataLoader(data, batch_size=64, shuffle=True)
    model = TabularVAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        beta = min(1.0, epoch / 4)
        avg = train_one_epoch(model, loader, opt, beta)
    print("final loss", round(avg, 3))


if __name__ == "__main__":
    main()
