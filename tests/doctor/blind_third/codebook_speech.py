import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(37)


class Quantiser(nn.Module):
    def __init__(self, n_codes, dim, beta=0.25):
        super().__init__()
        self.codes = nn.Parameter(torch.randn(n_codes, dim) * 0.3)
        self.beta = beta

    def forward(self, z):
        with torch.no_grad():
            index = torch.cdist(z, self.codes).argmin(dim=1)
        q = self.codes[index]
        codebook_loss = F.mse_loss(q, z.detach())
        commitment = F.mse_loss(z, q.detach())
        q = z + (q - z).detach()
        return q, codebook_loss + self.beta * commitment, index


class SpeechCodec(nn.Module):
    def __init__(self, frame=24, dim=6):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(frame, 32), nn.ReLU(), nn.Linear(32, dim))
        self.vq = Quantiser(16, dim)
        self.dec = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, frame))

    def forward(self, frames):
        q, vq_loss, index = self.vq(self.enc(frames))
        return self.dec(q), vq_loss, index


t = torch.linspace(0, 1, 24)
kind = torch.randint(0, 6, (300, 1)).float()
frames = torch.sin(2 * torch.pi * (1 + kind) * t) + 0.05 * torch.randn(300, 24)

codec = SpeechCodec()
optimizer = torch.optim.Adam(codec.parameters(), lr=5e-3)
for epoch in range(200):
    recon, vq_loss, index = codec(frames)
    loss = F.mse_loss(recon, frames) + vq_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 50 == 49:
        print(f"epoch {epoch + 1} loss {loss.item():.4f} codes in use {index.unique().numel()}")
