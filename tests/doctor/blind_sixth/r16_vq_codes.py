# VQ-VAE on 2d mixtures
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)


class Quantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -0.5, 0.5)

    def forward(self, z):
        dist = torch.cdist(z, self.codebook.weight)
        index = dist.argmin(dim=1)
        z_q = self.codebook(index)
        z_q = z + (z_q - z).detach()
        return z_q, index


class VQVAE(nn.Module):
    def __init__(self, dim=4, beta=0.25):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, dim))
        self.quantizer = Quantizer(dim=dim)
        self.decoder = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 2))
        self.beta = beta

    def forward(self, x):
        z_e = self.encoder(x)
        z_q, index = self.quantizer(z_e)
        recon = self.decoder(z_q)
        rec_loss = F.mse_loss(recon, x)
        codebook_loss = F.mse_loss(z_q, z_e.detach())
        commit_loss = F.mse_loss(z_e, z_q.detach())
        return rec_loss + codebook_loss + self.beta * commit_loss, rec_loss, index


def sample(n=256):
    centers = torch.randn(8, 2, generator=torch.Generator().manual_seed(9)) * 2
    return centers[torch.randint(0, 8, (n,))] + 0.1 * torch.randn(n, 2)


model = VQVAE()
start = model.quantizer.codebook.weight.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(250):
    loss, rec, index = model(sample())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(f"step {step} rec {rec.item():.4f} codes in use {index.unique().numel()}")
moved = (model.quantizer.codebook.weight.detach() - start).norm().item()
print(f"final rec {rec.item():.4f}, distance moved by the codes {moved:.4f}")
