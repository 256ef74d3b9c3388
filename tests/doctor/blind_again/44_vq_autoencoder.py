import torch
import torch.nn as nn
import torch.nn.functional as F


class Codebook(nn.Module):
    def __init__(self, n_codes, dim, beta=1.0):
        super().__init__()
        self.beta = beta
        self.table = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.table.weight, -0.5, 0.5)

    def forward(self, z):
        with torch.no_grad():
            idx = torch.cdist(z, self.table.weight).argmin(dim=1)
        q = self.table(idx)
        commit = F.mse_loss(z, q.detach())
        codebook = F.mse_loss(q, z.detach())
        q = z + (q - z)
        return q, codebook + self.beta * commit, idx


class VQAE(nn.Module):
    def __init__(self, d=12, dim=4, n_codes=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, dim))
        self.vq = Codebook(n_codes, dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, d))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.encoder(x))
        return self.decoder(q), vq_loss, idx


def clusters(n, k=8, d=12):
    gen = torch.Generator().manual_seed(0)
    centers = 2 * torch.randn(k, d, generator=gen)
    return centers[torch.randint(0, k, (n,))] + 0.3 * torch.randn(n, d)


def main():
    torch.manual_seed(1)
    model = VQAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(150):
        x = clusters(64)
        recon, vq_loss, idx = model(x)
        rec = F.mse_loss(recon, x)
        loss = rec + vq_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 49:
            print(f"{step + 1}: rec {rec.item():.3f} vq {vq_loss.item():.3f} used {idx.unique().numel()}")


main()
