"""VQ-VAE on clustered vectors."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes=16, dim=4):
        super().__init__()
        self.codebook = nn.Embedding(n_codes, dim)
        nn.init.uniform_(self.codebook.weight, -1.0, 1.0)

    def forward(self, z):
        dist = torch.cdist(z, self.codebook.weight)
        idx = dist.argmin(1)
        quantized = self.codebook(idx)
        return z + (quantized - z).detach(), idx


class VQVAE(nn.Module):
    def __init__(self, d_in=12, dim=4):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d_in, 32), nn.ReLU(), nn.Linear(32, dim))
        self.vq = VectorQuantizer(dim=dim)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, d_in))

    def forward(self, x):
        z_e = self.enc(x)
        z_q, idx = self.vq(z_e)
        return self.dec(z_q), z_e, z_q, idx


def main(steps=150, beta=0.25):
    torch.manual_seed(0)
    centers = 2 * torch.randn(10, 12)
    model = VQVAE()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(steps):
        x = centers[torch.randint(0, 10, (64,))] + 0.2 * torch.randn(64, 12)
        x_hat, z_e, z_q, idx = model(x)
        recon = F.mse_loss(x_hat, x)
        codebook_loss = F.mse_loss(z_q, z_e.detach())
        commit_loss = F.mse_loss(z_e, z_q.detach())
        loss = recon + codebook_loss + beta * commit_loss
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 50 == 0:
            print(f"{step:4d} recon {recon.item():.4f} codebook {codebook_loss.item():.4f} "
                  f"used {idx.unique().numel()}")
    return model


if __name__ == "__main__":
    model = main()
