import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(73)


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=24, dim=4, beta=0.25):
        super().__init__()
        self.beta = beta
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0, 1.0)

    def forward(self, z):
        with torch.no_grad():
            d = torch.cdist(z, self.codebook.weight)
            idx = d.argmin(1)
        q = self.codebook(idx)
        codebook_loss = F.mse_loss(q, z.detach())
        commit_loss = F.mse_loss(z, q.detach())
        # straight through: forward uses q, gradient goes to z
        q = z + (q - z)
        return q, codebook_loss + self.beta * commit_loss, idx


class VQVAE(nn.Module):
    def __init__(self, d_in=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, 48), nn.ReLU(), nn.Linear(48, 4))
        self.vq = VectorQuantizer()
        self.decoder = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, d_in))

    def forward(self, x):
        q, vq_loss, idx = self.vq(self.encoder(x))
        return self.decoder(q), vq_loss, idx


clusters = torch.randn(12, 8) * 1.5


def batch(n=96):
    return clusters[torch.randint(0, 12, (n,))] + 0.1 * torch.randn(n, 8)


model = VQVAE()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(240):
    x = batch()
    recon, vq_loss, idx = model(x)
    rec = F.mse_loss(recon, x)
    loss = rec + vq_loss
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(f"step {step} recon {rec.item():.4f} vq {vq_loss.item():.4f} codes in use {idx.unique().numel()}")
