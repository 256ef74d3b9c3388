"""VQ autoencoder whose codebook is moved by exponential averages instead of gradients."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class EMACodebook(nn.Module):
    def __init__(self, n=12, dim=3, decay=0.95):
        super().__init__()
        codes = torch.randn(n, dim)
        self.register_buffer("codes", codes)
        self.register_buffer("count", torch.ones(n))
        self.register_buffer("total", codes.clone())
        self.decay = decay

    @torch.no_grad()
    def move(self, z, idx):
        onehot = F.one_hot(idx, self.codes.size(0)).to(z.dtype)
        self.count.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.total.mul_(self.decay).add_(onehot.t() @ z, alpha=1 - self.decay)
        self.codes.copy_(self.total / self.count.clamp_min(1e-3)[:, None])

    def forward(self, z):
        idx = torch.cdist(z.detach(), self.codes).argmin(1)
        q = self.codes[idx]
        commit = F.mse_loss(z, q)
        if self.training:
            self.move(z, idx)
        return z + (q - z).detach(), commit, idx


enc = nn.Sequential(nn.Linear(9, 24), nn.ReLU(), nn.Linear(24, 3))
dec = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, 9))
torch.manual_seed(0)
book = EMACodebook()
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=3e-3)
mix = torch.randn(3, 9)

for step in range(150):
    x = torch.sign(torch.randn(64, 3)) @ mix
    q, commit, idx = book(enc(x))
    recon = F.mse_loss(dec(q), x)
    loss = recon + 0.25 * commit
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(f"{step} recon {recon.item():.4f} commit {commit.item():.4f} codes used {idx.unique().numel()}")
