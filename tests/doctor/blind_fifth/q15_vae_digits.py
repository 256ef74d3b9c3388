import torch
from torch import nn, optim
from torch.distributions import Normal, kl_divergence

torch.manual_seed(10)
torch.set_num_threads(1)


def strokes(n, size=8):
    imgs = torch.zeros(n, size, size)
    kind = torch.randint(0, 2, (n,))
    pos = torch.randint(1, size - 1, (n,))
    for i in range(n):
        if kind[i] == 0:
            imgs[i, pos[i]] = 1.0
        else:
            imgs[i, :, pos[i]] = 1.0
    return imgs.flatten(1)


class Encoder(nn.Module):
    def __init__(self, d_in, h, z):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_in, h), nn.ReLU())
        self.mu, self.logvar = nn.Linear(h, z), nn.Linear(h, z)

    def forward(self, x):
        h = self.body(x)
        return Normal(self.mu(h), torch.exp(0.5 * self.logvar(h)))


class VAE(nn.Module):
    def __init__(self, d_in=64, h=64, z=6):
        super().__init__()
        self.encoder = Encoder(d_in, h, z)
        self.decoder = nn.Sequential(nn.Linear(z, h), nn.ReLU(), nn.Linear(h, d_in))
        self.prior = Normal(0.0, 1.0)

    def forward(self, x):
        q = self.encoder(x)
        z = q.sample()
        return self.decoder(z), kl_divergence(q, self.prior).sum(1)


train = strokes(512)
vae = VAE()
optimizer = optim.Adam(vae.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss(reduction="none")

for epoch in range(40):
    rec_sum = kl_sum = 0.0
    for xb in train[torch.randperm(512)].split(64):
        logits, kl = vae(xb)
        rec = bce(logits, xb).sum(1)
        loss = (rec + kl).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        rec_sum += rec.mean().item()
        kl_sum += kl.mean().item()
    if epoch % 13 == 0:
        print(f"epoch {epoch} loss {(rec_sum + kl_sum) / 8:.3f} rec {rec_sum / 8:.3f} kl {kl_sum / 8:.3f}")
